import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.postgresql.PGConnection;

class Use {
    static final String URL =
            "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");

    /** One new row; its id comes back with it. */
    static long insert(Connection connection, String item) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO orders (item) VALUES (?)", new String[] {"id"})) {
            insert.setString(1, item);
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                keys.next();
                return keys.getLong(1); // getObject(1, Long.class) knows bigint only
            }
        }
    }

    /** A batch of rows; all their ids come back. */
    static List<Long> insertBatch(Connection connection, List<String> items) throws SQLException {
        List<Long> ids = new ArrayList<>();
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO orders (item) VALUES (?)", new String[] {"id"})) {
            for (String item : items) {
                insert.setString(1, item);
                insert.addBatch();
            }
            insert.executeBatch();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                while (keys.next()) ids.add(keys.getLong(1));
            }
        }
        return ids;
    }

    /** Ids before there are rows. */
    static List<Long> block(Connection connection, int n) throws SQLException {
        List<Long> ids = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement("SELECT flake_next_many(?)")) {
            select.setInt(1, n);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) ids.add(rows.getLong(1));
            }
        }
        return ids;
    }

    static String item(Connection connection, long id) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement("SELECT item FROM orders WHERE id = ?")) {
            select.setLong(1, id);
            try (ResultSet rows = select.executeQuery()) {
                return rows.next() ? rows.getString(1) : null;
            }
        }
    }

    /** A page: the rows after the last id seen. */
    static List<Long> page(Connection connection, long last) throws SQLException {
        List<Long> ids = new ArrayList<>();
        try (PreparedStatement select =
                connection.prepareStatement("SELECT id FROM orders WHERE id > ? ORDER BY id LIMIT 10")) {
            select.setLong(1, last);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) ids.add(rows.getLong("id"));
            }
        }
        return ids;
    }

    static int countAny(Connection connection, List<Long> ids) throws SQLException {
        Array array = connection.createArrayOf("bigint", ids.toArray());
        try (PreparedStatement select = connection.prepareStatement("SELECT count(*) FROM orders WHERE id = ANY (?)")) {
            select.setArray(1, array);
            try (ResultSet rows = select.executeQuery()) {
                rows.next();
                return rows.getInt(1);
            }
        }
    }

    static void check(Object found, Object expected) {
        if (!expected.equals(found)) throw new AssertionError(found + " is not " + expected);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("version: pgjdbc " + new org.postgresql.Driver().getClass().getPackage().getImplementationVersion());
        // Extended protocol with binary results as soon as may be, unnamed statements, and the simple protocol
        for (String mode : List.of("?prepareThreshold=-1", "?prepareThreshold=0", "?preferQueryMode=simple", "?reWriteBatchedInserts=true")) {
            try (Connection connection = DriverManager.getConnection(URL + mode, System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE EXTENSION IF NOT EXISTS flakeid");
                statement.execute("DROP TABLE IF EXISTS orders");
                statement.execute("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])");
                use(connection, statement);
                statement.execute("DROP TABLE IF EXISTS replies, tickets");
                statement.execute("CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text)");
                statement.execute("CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)");
                useSealed(connection);
            }
        }
    }

    static void use(Connection connection, Statement statement) throws Exception {
        long one = insert(connection, "tea");
        check(one > 1L << 53, true);
        List<String> items = Collections.nCopies(80, "item");
        List<Long> ids = insertBatch(connection, items);
        check(ids.size(), 80);
        check(ids.stream().distinct().sorted().toList(), ids);
        List<Long> block = block(connection, 50);
        check(block.get(0) > ids.get(79), true);
        for (int i = 0; i < 10; i++) check(item(connection, one), "tea");

        List<Long> seen = new ArrayList<>();
        for (long last = one; seen.size() < 80; last = seen.get(seen.size() - 1)) seen.addAll(page(connection, last));
        check(seen, ids);
        check(countAny(connection, ids), 80);

        // What knows bigint only refuses, and is told so by a cast.
        try (ResultSet row = statement.executeQuery("SELECT id, id::bigint, near FROM orders LIMIT 1")) {
            row.next();
            try {
                row.getObject(1, Long.class);
                throw new AssertionError("getObject(1, Long.class) works: say so on the page");
            } catch (SQLException e) {
                check(e.getMessage().contains("not supported"), true);
            }
            check(row.getObject(1).getClass(), org.postgresql.util.PGobject.class);
            check(row.getObject(2, Long.class), one);
            check(row.getString(1), Long.toString(one));
            check(row.getBigDecimal(2).longValueExact(), one);
            check(row.getMetaData().getColumnTypeName(1), "flake");
        }

        // Arrays, with NULL
        Long[] odd = {(1L << 53) + 1, null, Long.MIN_VALUE, Long.MAX_VALUE};
        try (PreparedStatement update = connection.prepareStatement("UPDATE orders SET near = ?::flake[] WHERE id = ?")) {
            update.setArray(1, connection.createArrayOf("bigint", odd));
            update.setLong(2, one);
            check(update.executeUpdate(), 1);
        }
        try (ResultSet row = statement.executeQuery("SELECT near::bigint[] FROM orders WHERE id = " + one)) {
            row.next();
            check(Arrays.asList((Long[]) row.getArray(1).getArray()), Arrays.asList(odd));
        }

        // Parameters of each kind
        for (int type : new int[] {Types.BIGINT, Types.NUMERIC, Types.OTHER}) {
            try (PreparedStatement select = connection.prepareStatement("SELECT item FROM orders WHERE id = ?"
                    + (type == Types.NUMERIC ? "::flake" : ""))) {
                select.setObject(1, type == Types.OTHER ? (Object) Long.toString(one) : (Object) one, type);
                try (ResultSet rows = select.executeQuery()) {
                    check(rows.next(), true);
                }
            }
        }
        try (PreparedStatement select = connection.prepareStatement("SELECT item FROM orders WHERE id = ?::flake")) {
            select.setString(1, Long.toString(one));
            try (ResultSet rows = select.executeQuery()) {
                check(rows.next(), true);
            }
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO orders (id, item) VALUES (?, ?)")) {
            insert.setLong(1, block.get(0));
            insert.setString(2, "block");
            check(insert.executeUpdate(), 1);
        }

        // An updatable result
        try (Statement updatable = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet row = updatable.executeQuery("SELECT id, item FROM orders WHERE id = " + one)) {
            row.next();
            row.updateString(2, "coffee");
            row.updateRow();
        }
        check(item(connection, one), "coffee");

        // JSON has a string.
        try (ResultSet row = statement.executeQuery("SELECT json_build_object('id', id)->'id' FROM orders WHERE id = " + one)) {
            row.next();
            check(row.getString(1), "\"" + one + "\"");
        }

        // COPY BINARY: on the wire a flake is an int8.
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.write("PGCOPY\n\377\r\n\0".getBytes(StandardCharsets.ISO_8859_1));
        out.writeLong(0);
        for (long id : block.subList(1, 50)) {
            out.writeShort(2);
            out.writeInt(8);
            out.writeLong(id);
            out.writeInt(6);
            out.writeBytes("copied");
        }
        out.writeShort(-1);
        long copied = connection.unwrap(PGConnection.class).getCopyAPI()
                .copyIn("COPY orders (id, item) FROM STDIN (FORMAT binary)", new ByteArrayInputStream(bytes.toByteArray()));
        check(copied, 49L);
        check(countAny(connection, block), 50);
    }

    static String one(Connection connection, String sql, Object value) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            if (value instanceof Array array) select.setArray(1, array);
            else select.setString(1, (String) value);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? row.getString(1) : null;
            }
        }
    }

    /** Sealed ids are texts, and a text that is none is no row. */
    static void useSealed(Connection connection) throws SQLException {
        String id = one(connection, "INSERT INTO tickets (item) VALUES (?) RETURNING id", "tea");
        check(id.matches("[0-9a-v]{13}"), true);
        check(one(connection, "INSERT INTO replies (ticket_id) VALUES (?) RETURNING ticket_id", id), id);
        check(one(connection, "SELECT id FROM tickets WHERE id = ANY (?)", connection.createArrayOf("text", new String[] {id})), id);
        check(one(connection, "SELECT item FROM tickets WHERE id = flake_sealed_or_null(?)", id), "tea");
        check(one(connection, "SELECT item FROM tickets WHERE id = flake_sealed_or_null(?)", "favicon.ico") == null, true);
    }
}
