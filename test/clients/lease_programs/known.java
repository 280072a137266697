// Known answers of others (test/vectors): prints how many ids are as they say.
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class Known {
    private static int count;

    private static List<Map<String, String>> rows(String name) throws IOException {
        List<Map<String, String>> rows = new ArrayList<>();
        List<String> lines = Files.readAllLines(Path.of("../../vectors/" + name + ".csv"));
        String[] columns = lines.get(0).split(",");
        for (String line : lines.subList(1, lines.size())) {
            Map<String, String> row = new HashMap<>();
            for (int i = 0; i < columns.length; i++) {
                row.put(columns[i], line.split(",")[i]);
            }
            rows.add(row);
        }
        return rows;
    }

    // tick: of the time field, in its units since the epoch
    private static void check(String id, String text, long tick, String node, String sequence, String secret) {
        long made = new FlakeIds.Layout(text, secret).id(tick, Long.parseLong(sequence), Long.parseLong(node));
        if (made != Long.parseLong(id)) {
            throw new AssertionError(text + ": " + made + " is not " + id);
        }
        count++;
    }

    public static void main(String[] arguments) throws IOException {
        for (var row : rows("bwmarrin")) {
            check(row.get("id"), "time:41:1ms node:10 sequence:12 epoch=2010-11-04T01:42:54.657Z", Long.parseLong(row.get("unix_ms")) - 1288834974657L,
                row.get("node"), row.get("step"), "");
        }
        for (var row : rows("sonyflake_v1")) {
            check(row.get("id"), "time:39:10ms sequence:8 machine:16 epoch=2014-09-01T00:00:00Z", Long.parseLong(row.get("time_10ms_since_2014-09-01")),
                row.get("machine"), row.get("sequence"), "");
        }
        for (var row : rows("sonyflake_v2")) {
            long start = Long.parseLong(row.get("start_unix_ms"));
            long unit = Long.parseLong(row.get("time_unit_ms"));
            int bits = 63 - Integer.parseInt(row.get("bits_sequence")) - Integer.parseInt(row.get("bits_machine"));
            check(row.get("id"), "time:" + bits + ":" + unit + "ms sequence:" + row.get("bits_sequence") + " machine:" + row.get("bits_machine")
                + " epoch=" + Instant.ofEpochMilli(start), (Long.parseLong(row.get("unix_ms")) - start) / unit, row.get("machine"), row.get("sequence"), "");
        }
        for (var row : rows("uidgenerator")) {
            check(row.get("id"), "time:" + row.get("time_bits") + ":1s worker:" + row.get("worker_bits") + " sequence:" + row.get("seq_bits")
                + " epoch=2016-05-19T16:00:00Z", Long.parseLong(row.get("unix_seconds")) - 1463673600L, row.get("worker"), row.get("sequence"), "");
        }
        for (var row : rows("randflake")) {
            check(row.get("encrypted_id"), "time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64",
                Long.parseLong(row.get("unix_seconds")) - 1730000000L, row.get("node"), row.get("sequence"), row.get("secret_hex"));
        }
        for (String readOnly : List.of("time:48:10us node:15 epoch=2015-01-01T00:00:00Z", "time:41:2s node:10 sequence:12 epoch=2015-01-01T00:00:00Z")) {
            try {
                new FlakeIds.Layout(readOnly, "");
            } catch (IllegalArgumentException refused) {
                continue;
            }
            throw new AssertionError(readOnly);
        }
        System.out.println(count);
    }
}
