// A producer and a consumer on whichever kafka-clients is on the class path; nothing newer than 2.1 is used.
//
// Arguments: bootstrap servers, topic, count of records, then name=value properties of the producer. Prints what was
// read, a line each: offset, key, value, value of the header "h".

import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

public class RoundTrip {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int count = Integer.parseInt(arguments[2]);
        System.out.println("version " + AppInfoParser.getVersion());
        produce(arguments, topic, count);
        consume(arguments[0], topic, count);
        System.exit(0);
    }

    static void produce(String[] arguments, String topic, int count) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("acks", "all");
        for (int i = 3; i < arguments.length; i++) {
            String[] property = arguments[i].split("=", 2);
            settings.put(property[0], property[1]);
        }
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        Future<RecordMetadata> last = null;
        for (int i = 0; i < count; i++) {
            ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, "key " + i, "value " + i);
            record.headers().add("h", ("header " + i).getBytes("UTF-8"));
            last = producer.send(record);
        }
        last.get();
        producer.close();
    }

    static void consume(String bootstrap, String topic, int count) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("enable.auto.commit", "false");
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        TopicPartition partition = new TopicPartition(topic, 0);
        consumer.assign(Collections.singletonList(partition));
        consumer.seekToBeginning(Collections.singletonList(partition));
        int found = 0;
        while (found < count) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                String header = new String(record.headers().lastHeader("h").value(), "UTF-8");
                System.out.println(record.offset() + "\t" + record.key() + "\t" + record.value() + "\t" + header);
                found++;
            }
        }
        System.out.println("end " + consumer.endOffsets(Collections.singletonList(partition)).get(partition));
        consumer.close();
    }
}
