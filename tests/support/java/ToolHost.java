// Runs Kafka's command line tools one after the other in one JVM, whose start costs more than most of them.
//
// In, a line per tool: its main class and arguments, each in Base64, separated by blanks. Out, a line per tool: its exit
// status, standard output and standard error, the last two in Base64. It ends with its input.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.utils.Exit;

public class ToolHost {
    // The first is the one that was meant: some tools catch what ends them, and then end because of that.
    static Integer firstStatus;

    static final class Ended extends RuntimeException {
        Ended(int status) {
            super(null, null, false, false);
            if (firstStatus == null) {
                firstStatus = status;
            }
        }
    }

    public static void main(String[] ignored) throws Exception {
        Exit.setExitProcedure((status, message) -> { throw new Ended(status); });
        Exit.setHaltProcedure((status, message) -> { throw new Ended(status); });
        PrintStream answers = System.out;
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = Arrays.stream(line.split(" ")).map(ToolHost::decode).toArray(String[]::new);
            answers.println(run(words[0], Arrays.copyOfRange(words, 1, words.length)));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static String run(String mainClass, String[] arguments) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        int status;
        try {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            status = status(mainClass, arguments);
        } finally {
            System.out.flush();
            System.err.flush();
            System.setOut(out);
            System.setErr(err);
        }
        return status + " " + encode(printed) + " " + encode(complained);
    }

    static int status(String mainClass, String[] arguments) throws Exception {
        firstStatus = null;
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException failed) {
            if (firstStatus != null) {
                return firstStatus;
            }
            failed.getCause().printStackTrace();
            return 1;
        }
    }

    static String decode(String word) {
        return new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8);
    }

    // A mark before each, so that nothing is not two blanks in a row.
    static String encode(ByteArrayOutputStream bytes) {
        return "=" + Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
