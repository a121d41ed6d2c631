// Random changes to partitions, and the records that Kafka's own controller makes of them.
//
//     java -cp '<jars of Kafka 4.3.1>/*' ChangeVectors.java 4000 | gzip -9n > change.jsonl.gz

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.controller.PartitionChangeBuilder.Election;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

public class ChangeVectors {
    static final Random RANDOM = new Random(20240966);
    static final short[] LEVELS = {7, 11, 12, 16, 17, 30};

    static List<Integer> subset(List<Integer> of, double chance) {
        return of.stream().filter(x -> RANDOM.nextDouble() < chance).collect(Collectors.toList());
    }

    static List<Integer> without(List<Integer> of, List<Integer> those) {
        return of.stream().filter(x -> !those.contains(x)).collect(Collectors.toList());
    }

    static List<Integer> shuffled(int size) {
        List<Integer> brokers = new ArrayList<>(List.of(1, 2, 3, 4, 5, 6));
        Collections.shuffle(brokers, RANDOM);
        return new ArrayList<>(brokers.subList(0, size));
    }

    static int any(List<Integer> of) {
        return of.get(RANDOM.nextInt(of.size()));
    }

    static int[] ints(List<Integer> of) {
        return of.stream().mapToInt(x -> x).toArray();
    }

    static Uuid directory(int broker) {
        return new Uuid(1000, broker);
    }

    static String directories(List<Uuid> of) {
        return of == null ? "null" : of.stream()
            .map(d -> DirectoryId.reserved(d) ? "0" : "" + d.getLeastSignificantBits())
            .collect(Collectors.toList()).toString();
    }

    static PartitionRegistration partition(boolean elr) {
        List<Integer> replicas = shuffled(1 + RANDOM.nextInt(5));
        List<Integer> adding = new ArrayList<>();
        List<Integer> removing = new ArrayList<>();
        if (replicas.size() > 1 && RANDOM.nextDouble() < 0.4) {
            adding = subset(replicas.subList(1, replicas.size()), 0.4);
            removing = subset(without(replicas.subList(1, replicas.size()), adding), 0.5);
        }
        List<Integer> isr = subset(replicas, 0.6);
        if (isr.isEmpty() && !(elr && RANDOM.nextBoolean())) {
            isr = List.of(any(replicas));
        }
        List<Integer> eligible = elr && RANDOM.nextBoolean()
            ? subset(without(replicas, isr), 0.5) : new ArrayList<>();
        Collections.sort(eligible);
        int leader = isr.isEmpty() || RANDOM.nextDouble() < 0.15 ? -1 : any(isr);
        List<Integer> lastKnown = elr && leader == -1 && RANDOM.nextBoolean()
            ? List.of(any(replicas)) : List.of();
        return new PartitionRegistration.Builder()
            .setReplicas(ints(replicas))
            .setDirectories(replicas.stream().map(b -> directory(b)).toArray(Uuid[]::new))
            .setIsr(ints(isr))
            .setRemovingReplicas(ints(removing))
            .setAddingReplicas(ints(adding))
            .setElr(ints(eligible))
            .setLastKnownElr(ints(lastKnown))
            .setLeader(leader)
            .setLeaderRecoveryState(
                isr.size() == 1 && RANDOM.nextDouble() < 0.2
                    ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(RANDOM.nextInt(9))
            .setPartitionEpoch(10 + RANDOM.nextInt(9))
            .build();
    }

    static List<Integer> list(int[] of) {
        List<Integer> all = new ArrayList<>();
        for (int one : of) all.add(one);
        return all;
    }

    public static void main(String[] arguments) {
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            short level = LEVELS[RANDOM.nextInt(LEVELS.length)];
            boolean elr = level == 30 && RANDOM.nextDouble() < 0.7;
            System.out.println(one(level, elr));
        }
    }

    static String one(short level, boolean elr) {
        PartitionRegistration partition = partition(elr);
        List<Integer> replicas = list(partition.replicas);
        List<Integer> isr = list(partition.isr);
        List<Integer> alive = subset(shuffled(6), 0.7);
        List<Integer> targetIsr = null, targetReplicas = null, removing = null, adding = null;
        Integer recovery = null, uncleanShutdown = null;
        Election election = RANDOM.nextBoolean() ? Election.ONLINE : Election.UNCLEAN;
        int kind = RANDOM.nextInt(6);
        if (kind == 0) {
            election = Election.values()[RANDOM.nextInt(3)];
        } else if (kind <= 2) {
            int broker = any(replicas);
            targetIsr = without(isr, List.of(broker));
            alive = without(alive, List.of(broker));
            if (kind == 2) uncleanShutdown = broker;
        } else if (kind == 3 && partition.leader >= 0) {
            Set<Integer> wanted = new HashSet<>(subset(replicas, 0.7));
            wanted.add(partition.leader);
            targetIsr = new ArrayList<>(wanted);
            alive = new ArrayList<>(shuffled(6));
            recovery = 0;
        } else if (kind == 4 && partition.addingReplicas.length + partition.removingReplicas.length == 0) {
            List<Integer> wanted = shuffled(1 + RANDOM.nextInt(4));
            removing = without(replicas, wanted).stream().sorted().collect(Collectors.toList());
            adding = without(wanted, replicas).stream().sorted().collect(Collectors.toList());
            targetReplicas = new ArrayList<>(wanted);
            targetReplicas.addAll(removing);
            election = Election.ONLINE;
        } else if (kind == 5) {
            List<Integer> left = without(isr, list(partition.addingReplicas));
            if (!left.isEmpty()) {
                targetIsr = left;
                targetReplicas = without(replicas, list(partition.addingReplicas));
                removing = List.of();
                adding = List.of();
            }
        }
        int minIsr = 1 + RANDOM.nextInt(replicas.size());
        List<Integer> accepted = alive;
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            partition, Uuid.ONE_UUID, 7, accepted::contains,
            MetadataVersion.fromFeatureLevel(level), minIsr, elr);
        builder.setElection(election).setDefaultDirProvider(ChangeVectors::directory);
        if (targetIsr != null) builder.setTargetIsr(targetIsr);
        if (targetReplicas != null) builder.setTargetReplicas(targetReplicas);
        if (removing != null) builder.setTargetRemoving(removing);
        if (adding != null) builder.setTargetAdding(adding);
        if (recovery != null) builder.setTargetLeaderRecoveryState(LeaderRecoveryState.RECOVERED);
        if (uncleanShutdown != null) builder.setUncleanShutdownReplicas(List.of(uncleanShutdown));
        String record = builder.build()
            .map(r -> record((PartitionChangeRecord) r.message())).orElse("null");
        return "{\"level\":" + level + ",\"elr\":" + elr + ",\"min_isr\":" + minIsr
            + ",\"alive\":" + accepted
            + ",\"partition\":{\"replicas\":" + replicas + ",\"isr\":" + isr
            + ",\"removing_replicas\":" + list(partition.removingReplicas)
            + ",\"adding_replicas\":" + list(partition.addingReplicas)
            + ",\"eligible_leader_replicas\":" + list(partition.elr)
            + ",\"last_known_elr\":" + list(partition.lastKnownElr)
            + ",\"leader\":" + partition.leader
            + ",\"leader_recovery_state\":" + partition.leaderRecoveryState.value()
            + ",\"leader_epoch\":" + partition.leaderEpoch
            + ",\"partition_epoch\":" + partition.partitionEpoch
            + "},\"target\":{\"election\":\"" + election.name().toLowerCase() + "\",\"isr\":" + targetIsr
            + ",\"replicas\":" + targetReplicas + ",\"removing_replicas\":" + removing
            + ",\"adding_replicas\":" + adding + ",\"leader_recovery_state\":" + recovery
            + ",\"unclean_shutdown\":" + uncleanShutdown
            + "},\"record\":" + record + "}";
    }

    static String record(PartitionChangeRecord r) {
        return "{\"isr\":" + r.isr() + ",\"leader\":" + r.leader() + ",\"replicas\":" + r.replicas()
            + ",\"removing_replicas\":" + r.removingReplicas()
            + ",\"adding_replicas\":" + r.addingReplicas()
            + ",\"leader_recovery_state\":" + r.leaderRecoveryState()
            + ",\"directories\":" + directories(r.directories())
            + ",\"eligible_leader_replicas\":" + r.eligibleLeaderReplicas()
            + ",\"last_known_elr\":" + r.lastKnownElr() + "}";
    }
}
