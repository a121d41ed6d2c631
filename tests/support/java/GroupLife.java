// Three consumers of one group: the first reads everything and commits, the second takes its share, and the third finds
// nothing left to read when both have gone.
//
// Arguments: bootstrap servers, topic, group, count of records, then name=value properties of the consumers.

import java.io.InputStream;
import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

public class GroupLife {
    static final Duration A_MOMENT = Duration.ofMillis(100);

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int count = Integer.parseInt(arguments[3]);
        System.out.println("version " + version());
        KafkaConsumer<String, String> first = join(arguments, topic);
        for (int found = 0; found < count;) {
            for (ConsumerRecord<String, String> record : first.poll(A_MOMENT)) {
                System.out.println("read " + record.value());
                found++;
            }
        }
        first.commitSync();
        int partitions = first.assignment().size();
        KafkaConsumer<String, String> second = join(arguments, topic);
        while (first.assignment().size() != partitions / 2 || second.assignment().size() != partitions / 2) {
            first.poll(A_MOMENT);
            second.poll(A_MOMENT);
        }
        TreeSet<Integer> owned = new TreeSet<>();
        first.assignment().forEach(it -> owned.add(it.partition()));
        second.assignment().forEach(it -> owned.add(it.partition()));
        System.out.println("owned by two " + owned);
        second.close();
        first.close();
        KafkaConsumer<String, String> third = join(arguments, topic);
        int again = 0;
        while (third.assignment().size() != partitions) {
            again += third.poll(A_MOMENT).count();
        }
        again += third.poll(Duration.ofMillis(500)).count();
        TreeMap<Integer, Long> committed = new TreeMap<>();
        for (var it : third.committed(third.assignment()).entrySet()) {
            committed.put(it.getKey().partition(), it.getValue().offset());
        }
        System.out.println("committed " + committed);
        System.out.println("read again " + again);
        third.close();
        System.exit(0);
    }

    static String version() throws Exception {
        Properties found = new Properties();
        try (InputStream file = KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            found.load(file);
        }
        return found.getProperty("version");
    }

    static KafkaConsumer<String, String> join(String[] arguments, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[2]);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        for (int i = 4; i < arguments.length; i++) {
            String[] property = arguments[i].split("=", 2);
            settings.put(property[0], property[1]);
        }
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(Collections.singletonList(topic));
        return consumer;
    }
}
