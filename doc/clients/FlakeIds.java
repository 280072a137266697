import java.lang.management.ManagementFactory;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;

/**
 * Ids that a program makes itself, on a node that it leases from a coordinator of flakeid. A file to copy; it needs pgjdbc alone.
 * doc/clients/lease_programs.md says what it promises.
 * <pre>
 *     var options = new FlakeIds.Options();
 *     options.coordinators = List.of("jdbc:postgresql://ids1/ids?user=shop");
 *     var ids = new FlakeIds(options);
 *     long id = ids.next(); // in any thread; at the end: ids.close()
 * </pre>
 * Each id is larger than the one before, and lies in a lease. No wall clock is read here: the time is that of the coordinator's
 * answers, carried on by a clock that nobody sets. So a process that was stopped finds that its lease is over.
 */
public final class FlakeIds {
    private static final long SECOND = 1_000_000; // in microseconds, as all times here whose names end in Us
    private static final long AHEAD_US = 5 * SECOND; // ids may lie so far ahead of the clock, as those of a server

    /** What may be said, and its default. */
    public static final class Options {
        public List<String> coordinators = List.of("jdbc:postgresql:"); // URLs that the driver takes, tried in turn
        public String realm = "default";
        public String holder = "a program";
        public String layout = "snowflake"; // a preset or a layout text
        public String secret = ""; // of an enciphered layout
        public double ttl = 60; // seconds of a lease
        public int timeout = 10; // seconds for a connection, and for an answer
    }

    /** How 64 bits are cut. The text is what column layout_text of flakeid.describe() has. */
    public static final class Layout {
        private record Part(int shift, int from, int bits) {}

        private final List<Part> parts = new ArrayList<>(); // of the node, the lowest first
        private long unitUs, epochUs;
        private int timeShift, timeBits, sequenceShift, sequenceBits, nodeBits;
        private LongUnaryOperator encrypt = id -> id;

        public Layout(String text, String secret) {
            int shift = 0;
            String[] words = text.trim().split("\\s+");
            for (int i = words.length - 1; i >= 0; i--) { // from the options, and then the lowest field, on
                String[] field = words[i].split("[:=]", 3);
                int bits = field[1].matches("\\d+") ? Integer.parseInt(field[1]) : 0;
                if (i == 0 && shift + bits == 64 && !text.contains("cipher=")) {
                    bits--; // a plain layout of 64 bits ends before the sign bit
                }
                switch (field[0]) {
                    case "epoch" -> epochUs = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse(words[i].substring(6)));
                    case "cipher" -> encrypt = sparx64(secret);
                    case "time" -> {
                        timeShift = shift;
                        timeBits = bits;
                        String unit = field[2].replaceFirst("\\d+", "");
                        unitUs = Long.parseLong(field[2].replace(unit, "")) * Map.of("us", 1L, "ms", 1000L, "s", SECOND).getOrDefault(unit, SECOND + 1);
                    }
                    case "sequence" -> {
                        sequenceShift = shift;
                        sequenceBits = bits;
                    }
                    case "back" -> {} // how often a clock was set back: a lease needs no such count
                    default -> {
                        parts.add(new Part(shift, nodeBits, bits));
                        nodeBits += bits;
                    }
                }
                shift += bits;
            }
            if (unitUs > SECOND || !(" " + text).contains(" sequence:")) {
                throw new IllegalArgumentException("ids of layout \"" + text + "\" can only be read");
            }
        }

        private long tickAt(long us) { return Math.floorDiv(us - epochUs, unitUs); }

        private static long mask(int bits) { return (1L << bits) - 1; }

        public long id(long tick, long sequence, long node) {
            long id = tick << timeShift | sequence << sequenceShift;
            for (Part part : parts) {
                id |= (node >> part.from & mask(part.bits)) << part.shift;
            }
            return encrypt.applyAsLong(id);
        }
    }

    /** SPARX-64/128 as Randflake uses it: a function that enciphers 64 bits under 32 hexadecimal digits or 16 characters. */
    private static LongUnaryOperator sparx64(String secret) {
        byte[] key = secret.length() == 32 ? HexFormat.of().parseHex(secret) : secret.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        if (key.length != 16) {
            throw new IllegalArgumentException("an enciphered layout needs a secret: 32 hexadecimal digits or 16 characters");
        }
        int[] k = new int[8];
        for (int i = 0; i < 8; i++) {
            k[i] = (key[2 * i] & 0xff) << 8 | key[2 * i + 1] & 0xff;
        }
        int[][] keys = new int[17][];
        for (int c = 0; c < 17; c++) {
            keys[c] = k.clone();
            mix(k, 0);
            k = new int[] {k[6], k[7] + c + 1 & 0xffff, k[0], k[1], k[2] + k[0] & 0xffff, k[3] + k[1] & 0xffff, k[4], k[5]};
        }
        return number -> {
            number = Long.reverseBytes(number);
            int[] x = {(int) (number >>> 48), (int) (number >>> 32) & 0xffff, (int) (number >>> 16) & 0xffff, (int) number & 0xffff};
            for (int half = 0; half < 16; half++) { // of eight steps
                int i = half % 2 * 2;
                for (int round = 0; round < 6; round += 2) {
                    x[i] ^= keys[half][round];
                    x[i + 1] ^= keys[half][round + 1];
                    mix(x, i);
                }
                if (i == 2) {
                    int spread = rotate(x[0] ^ x[1], 8);
                    x = new int[] {x[2] ^ x[0] ^ spread, x[3] ^ x[1] ^ spread, x[0], x[1]};
                }
            }
            for (int i = 0; i < 4; i++) {
                number = number << 16 | x[i] ^ keys[16][i];
            }
            return Long.reverseBytes(number);
        };
    }

    private static int rotate(int x, int by) { return (x << by | x >>> 16 - by) & 0xffff; }

    private static void mix(int[] x, int i) {
        x[i] = rotate(x[i], 9) + x[i + 1] & 0xffff;
        x[i + 1] = rotate(x[i + 1], 2) ^ x[i];
    }

    /** Ticks up to `last` of a node are this program's; tick and sequence are those of the last id. */
    private static final class Lease {
        private UUID token;
        private long node, endUs, last, tick, sequence;
    }

    private final Options options;
    private final String holder;
    private final Thread keeper = new Thread(this::keep, "flake_lease");
    private final CountDownLatch closing = new CountDownLatch(1);
    private UUID token = UUID.randomUUID(); // of the next question for a lease: asked again, it gives the same lease
    private int turn; // of which coordinator: the next one's, where one gives no answer
    private Layout layout;
    // The keeper alone writes these, and whoever draws the tick and sequence of the lease.
    private Lease lease;
    private Exception error; // of the last question
    private long clockUs, clockAt; // the time at that moment of System.nanoTime()

    public FlakeIds(Options options) {
        if (!(options.ttl > 0 && options.ttl <= 86400 && options.timeout > 0)) {
            throw new IllegalArgumentException("ttl " + options.ttl + " or timeout " + options.timeout + " is out of range");
        }
        this.options = options;
        String[] process = ManagementFactory.getRuntimeMXBean().getName().split("@"); // pid and host
        holder = options.holder + " on " + process[1] + ":" + process[0];
        keeper.setDaemon(true);
        keeper.start();
    }

    /** The next id, or null where there is none at this moment. */
    public synchronized Long tryNext() {
        if (lease == null) {
            return null;
        }
        long tick = layout.tickAt(nowUs());
        long sequence = 0;
        if (tick <= lease.tick) {
            tick = lease.tick + (lease.sequence + 1 >> layout.sequenceBits);
            sequence = lease.sequence + 1 & Layout.mask(layout.sequenceBits);
        }
        if (tick > lease.last || tick > layout.tickAt(nowUs() + AHEAD_US)) {
            return null;
        }
        lease.tick = tick;
        lease.sequence = sequence;
        return layout.id(tick, sequence, lease.node);
    }

    /** The next id. Where there is none for 10 s, the error says why. */
    public long next() throws InterruptedException {
        for (int waits = 0; waits < 2000 && closing.getCount() > 0; waits++) {
            Long id = tryNext();
            if (id != null) {
                return id;
            }
            Thread.sleep(5);
        }
        synchronized (this) {
            String reason = closing.getCount() == 0 ? "the generator is closed"
                : lease == null ? "no node is leased"
                : nowUs() >= lease.endUs ? "the lease of node " + lease.node + " has ended"
                : "layout \"" + options.layout + "\" allows no more ids at this time";
            throw new IllegalStateException(error == null ? reason : reason + ": " + error.getMessage(), error);
        }
    }

    /** Makes no more ids, and gives the node back. Where the coordinator does not hear of it, the lease runs out. */
    public void close() throws InterruptedException {
        closing.countDown();
        keeper.join();
    }

    private long nowUs() { return clockUs + (System.nanoTime() - clockAt) / 1000; }

    /** Renews at a third of the lease, up to a quarter of that earlier, and a second or two after a failure. */
    private void keep() {
        double pause = 0;
        try {
            while (!closing.await((long) (pause * 1000), TimeUnit.MILLISECONDS)) {
                Exception failed = null;
                pause = options.ttl / 3 * ThreadLocalRandom.current().nextDouble(0.75, 1);
                try {
                    if (lease == null || !renew()) {
                        acquire();
                    }
                } catch (Exception anything) { // whatever it is, the next question may have an answer
                    failed = anything;
                    pause = ThreadLocalRandom.current().nextDouble(1, 2);
                }
                synchronized (this) {
                    error = failed;
                }
            }
            release();
        } catch (InterruptedException | SQLException ended) {
            error = ended; // the lease runs out
        }
    }

    /** Whether the lease goes on. One that the coordinator refuses serves until its end, unless there is another before. */
    private boolean renew() throws SQLException {
        List<String> row;
        try {
            row = ask("SELECT extract(epoch FROM r)::int8, (extract(epoch FROM clock_timestamp()) * 1000000)::int8"
                + " FROM flakeid.lease_renew(?, ? * interval '1 s', to_timestamp(?)) AS r", lease.token, options.ttl, (double) (lease.endUs / SECOND));
        } catch (SQLException refused) {
            if ("55000".equals(refused.getSQLState())) {
                return false;
            }
            throw refused;
        }
        synchronized (this) {
            // A coordinator whose clock is wrong does not carry the time off: an answer moves it by a second.
            long ownUs = nowUs();
            set(lease, row.get(0), ownUs + Math.max(-SECOND, Math.min(SECOND, Long.parseLong(row.get(1)) - ownUs)));
        }
        return true;
    }

    /** Publishes a lease, its end in seconds, and the time. */
    private void set(Lease lease, String end, long nowUs) {
        lease.endUs = Long.parseLong(end) * SECOND;
        lease.last = Math.min(layout.tickAt(lease.endUs) - 1, Layout.mask(layout.timeBits));
        this.lease = lease;
        clockUs = nowUs;
        clockAt = System.nanoTime();
    }

    private void acquire() throws SQLException {
        if (layout == null) {
            layout = new Layout(ask("SELECT layout_text FROM flakeid.describe(?)", options.layout).get(0), options.secret);
        }
        Lease fresh = new Lease();
        fresh.token = token;
        List<String> row;
        try {
            row = ask("SELECT node, extract(epoch FROM lease_start)::int8, extract(epoch FROM lease_end)::int8,"
                + " (extract(epoch FROM clock_timestamp()) * 1000000)::int8"
                + " FROM flakeid.lease_acquire(?, ?, ? * interval '1 s', max_node => ?, token => ?)",
                options.realm, holder, options.ttl, (int) Layout.mask(layout.nodeBits), token);
        } catch (SQLException refused) {
            token = "42710".equals(refused.getSQLState()) ? UUID.randomUUID() : token; // that lease has ended
            throw refused;
        }
        token = UUID.randomUUID();
        long startUs = Long.parseLong(row.get(1)) * SECOND;
        long nowUs = Long.parseLong(row.get(3));
        fresh.node = Long.parseLong(row.get(0));
        if (startUs > nowUs + AHEAD_US) {
            ask("SELECT flakeid.lease_release(?, to_timestamp(0))", fresh.token);
            throw new IllegalStateException("the lease of node " + fresh.node + " begins ahead of the coordinator's clock");
        }
        synchronized (this) {
            fresh.tick = Math.max(0, layout.tickAt(startUs + layout.unitUs - 1)) - 1;
            // Ids go on rising from one lease to the next, unless a clock that was wrong is right again.
            if (lease != null && lease.tick < layout.tickAt(nowUs + AHEAD_US)) {
                fresh.tick = Math.max(fresh.tick, lease.tick);
            }
            fresh.sequence = Layout.mask(layout.sequenceBits);
            set(fresh, row.get(2), nowUs);
        }
    }

    private void release() throws SQLException {
        Lease last;
        synchronized (this) {
            last = lease;
            lease = null;
        }
        if (last != null) { // a last moment before the start says that it made no id
            ask("SELECT flakeid.lease_release(?, to_timestamp(? / 1000000))", last.token, (double) (last.tick * layout.unitUs + layout.epochUs));
        }
    }

    /**
     * Asks one question over a connection of its own, and returns the row of the answer. No answer in time is none, and so is one with
     * a warning: it was cut short while it waited for a standby.
     */
    private List<String> ask(String question, Object... values) throws SQLException {
        var limits = new Properties();
        for (String limit : List.of("loginTimeout", "connectTimeout", "socketTimeout")) {
            limits.setProperty(limit, String.valueOf(options.timeout));
        }
        String where = options.coordinators.get(turn % options.coordinators.size());
        try (var connection = DriverManager.getConnection(where, limits); var statement = connection.prepareStatement(question)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            List<String> row = new ArrayList<>();
            var answer = statement.executeQuery();
            answer.next();
            for (int i = 1; i <= answer.getMetaData().getColumnCount(); i++) {
                row.add(answer.getString(i));
            }
            if (statement.getWarnings() != null) {
                throw statement.getWarnings();
            }
            return row;
        } catch (SQLException failed) {
            turn += List.of("55000", "42710").contains(String.valueOf(failed.getSQLState())) ? 0 : 1; // a refusal is an answer
            throw failed;
        }
    }
}
