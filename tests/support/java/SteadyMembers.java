// Two members of a group for each protocol that is named, who commit a number that rises, over and over.
//
// Arguments: bootstrap servers, topic, then protocols. Prints what happens to each, a line at a time: "sends" before
// a commit, "committed" with number, partition, member id and generation (or member epoch) after it was acknowledged,
// and "assigned", "revoked" and "lost". Ends when it is killed.

import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public class SteadyMembers {
    static final Duration A_MOMENT = Duration.ofMillis(50);
    static final Duration PATIENCE = Duration.ofSeconds(5);

    public static void main(String[] arguments) {
        for (int i = 2; i < arguments.length; i++) {
            for (int member = 0; member < 2; member++) {
                String protocol = arguments[i];
                String name = protocol + "-" + member;
                new Thread(() -> live(arguments[0], arguments[1], protocol, name)).start();
            }
        }
    }

    static void live(String bootstrap, String topic, String protocol, String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", "java-" + protocol);
        settings.put("group.protocol", protocol);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(Collections.singletonList(topic), new ConsumerRebalanceListener() {
            public void onPartitionsAssigned(Collection<TopicPartition> some) {
                System.out.println(name + " assigned " + some);
            }

            public void onPartitionsRevoked(Collection<TopicPartition> some) {
                System.out.println(name + " revoked " + some);
            }

            public void onPartitionsLost(Collection<TopicPartition> some) {
                System.out.println(name + " lost " + some);
            }
        });
        for (long number = 1;; number++) {
            consumer.poll(A_MOMENT);
            for (TopicPartition partition : consumer.assignment()) {
                commit(consumer, partition, number, name);
            }
        }
    }

    static void commit(KafkaConsumer<String, String> consumer, TopicPartition partition, long number, String name) {
        System.out.println(name + " sends " + number);
        try {
            consumer.commitSync(Collections.singletonMap(partition, new OffsetAndMetadata(number)), PATIENCE);
        } catch (KafkaException error) {
            System.out.println(name + " failed " + error.getClass().getSimpleName());
            return;
        }
        var group = consumer.groupMetadata();
        System.out.println(
            name + " committed " + number + " " + partition.partition() + " " + group.memberId() + " "
                + group.generationId());
    }
}
