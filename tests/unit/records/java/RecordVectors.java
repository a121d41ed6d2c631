import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/** Prints "name hex" lines: record batches as Kafka's own builder makes them. */
public class RecordVectors {
    static final long TIME = 1_700_000_000_000L;

    static byte[] b(String s) { return s == null ? null : s.getBytes(StandardCharsets.UTF_8); }

    static void print(String name, ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        System.out.println(name + " " + HexFormat.of().formatHex(bytes));
    }

    static MemoryRecordsBuilder builder(Compression c, TimestampType t, long base, long appendTime,
            long pid, short epoch, int seq, boolean txn, boolean control, int leaderEpoch, long horizon) {
        return new MemoryRecordsBuilder(new ByteBufferOutputStream(1024), RecordBatch.MAGIC_VALUE_V2, c, t,
            base, appendTime, pid, epoch, seq, txn, control, leaderEpoch, 1 << 24, horizon);
    }

    static MemoryRecordsBuilder plain(Compression c) {
        return builder(c, TimestampType.CREATE_TIME, 0, -1, -1, (short) -1, -1, false, false, -1, -1);
    }

    static MemoryRecordsBuilder control(long base, int leaderEpoch) {
        return builder(Compression.NONE, TimestampType.CREATE_TIME, base, TIME, -1, (short) -1, -1, false, true, leaderEpoch, -1);
    }

    static void many(MemoryRecordsBuilder builder) {
        for (int i = 0; i < 300; i++)
            builder.append(TIME + i * 7, b("key-" + i % 10), b("value number " + i + " ".repeat(i % 50)),
                i % 3 == 0 ? new Header[] {new RecordHeader("n", b("" + i))} : new Header[0]);
    }

    static byte[] noise(int size) {
        byte[] bytes = new byte[size];
        long x = 42;
        for (int i = 0; i < 3000; i++) { x = x * 6364136223846793005L + 1442695040888963407L; bytes[i] = (byte) (x >>> 56 & 15); }
        for (int i = 3000; i < size; i++) bytes[i] = bytes[i - 3000];
        return bytes;
    }

    public static void main(String[] args) {
        MemoryRecordsBuilder r = plain(Compression.NONE);
        r.append(TIME, null, b("v"));
        r.append(TIME + 5, b("k"), (byte[]) null);
        r.append(TIME - 5, b(""), b(""), new Header[] {new RecordHeader("a", b("1")), new RecordHeader("", null)});
        r.append(TIME + 100000, b("key"), "x".repeat(300).getBytes());
        print("plain", r.build().buffer());

        for (var c : List.of(Compression.NONE, Compression.gzip().build(), Compression.snappy().build(), Compression.lz4().build(), Compression.zstd().build())) {
            r = plain(c); many(r); print("many_" + c.type().name, r.build().buffer());
            r = plain(c); r.append(TIME, b("noise"), noise(150_000)); print("noise_" + c.type().name, r.build().buffer());
        }
        r = plain(Compression.lz4().level(17).build()); many(r); print("many_lz4_17", r.build().buffer());
        r = plain(Compression.gzip().level(9).build()); many(r); print("many_gzip_9", r.build().buffer());
        r = plain(Compression.zstd().level(-7).build()); many(r); print("many_zstd_-7", r.build().buffer());

        r = builder(Compression.NONE, TimestampType.LOG_APPEND_TIME, 10, TIME + 99, -1, (short) -1, -1, false, false, 3, -1);
        r.append(TIME, b("k"), b("v")); r.append(TIME + 1, b("k"), b("w"));
        print("append_time", r.build().buffer());

        r = builder(Compression.NONE, TimestampType.CREATE_TIME, 1L << 40, -1, 4000, (short) 7, 2147483646, true, false, 5, -1);
        r.append(TIME, b("k"), b("v")); r.append(TIME + 1, b("k"), b("w")); r.append(TIME + 2, b("k"), b("x"));
        print("transactional", r.build().buffer());

        print("commit", MemoryRecords.withEndTransactionMarker(55, TIME, 2, 1234, (short) 6, new EndTransactionMarker(ControlRecordType.COMMIT, 17)).buffer());
        print("abort", MemoryRecords.withEndTransactionMarker(55, TIME, 2, 1234, (short) 6, new EndTransactionMarker(ControlRecordType.ABORT, 17)).buffer());

        Uuid dir = new Uuid(1, 2);
        var voters = List.of(new LeaderChangeMessage.Voter().setVoterId(1), new LeaderChangeMessage.Voter().setVoterId(2));
        r = control(100, 9);
        r.appendLeaderChangeMessage(TIME, new LeaderChangeMessage().setVersion((short) 0).setLeaderId(1).setVoters(voters).setGrantingVoters(voters.subList(0, 1)));
        r.appendKRaftVersionMessage(TIME, new KRaftVersionRecord().setVersion((short) 0).setKRaftVersion((short) 1));
        var endpoints = new VotersRecord.EndpointCollection();
        endpoints.add(new VotersRecord.Endpoint().setName("CONTROLLER").setHost("localhost").setPort(9093));
        r.appendVotersMessage(TIME, new VotersRecord().setVersion((short) 0).setVoters(List.of(new VotersRecord.Voter().setVoterId(1)
            .setVoterDirectoryId(dir).setEndpoints(endpoints)
            .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature().setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1)))));
        print("epoch_start", r.build().buffer());
        r = control(0, 9);
        r.appendSnapshotHeaderMessage(TIME, new SnapshotHeaderRecord().setVersion((short) 0).setLastContainedLogTimestamp(TIME - 1));
        print("snapshot_header", r.build().buffer());
        r = control(7, 9);
        r.appendSnapshotFooterMessage(TIME, new SnapshotFooterRecord().setVersion((short) 0));
        print("snapshot_footer", r.build().buffer());

        r = builder(Compression.NONE, TimestampType.CREATE_TIME, 20, -1, -1, (short) -1, -1, false, false, 3, TIME + 86400000);
        r.appendWithOffset(21, TIME, b("k"), null); r.appendWithOffset(24, TIME + 1, b("l"), b("w"));
        r.overrideLastOffset(29);
        print("delete_horizon", r.build().buffer());

        ByteBuffer empty = ByteBuffer.allocate(61);
        DefaultRecordBatch.writeEmptyHeader(empty, RecordBatch.MAGIC_VALUE_V2, 1234, (short) 6, 77, 500, 509, 3, TimestampType.CREATE_TIME, TIME, true, false);
        empty.flip(); print("empty", empty);
    }
}
