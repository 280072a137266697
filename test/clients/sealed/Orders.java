import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

class Orders {
    static Connection connection;

    static String one(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            String last = null;
            // The driver makes a prepared statement of the server's at the fifth call.
            for (int call = 0; call < (sql.startsWith("SELECT") ? 10 : 1); call++) {
                for (int i = 0; i < values.length; i++) {
                    if (values[i] instanceof String) {
                        statement.setString(i + 1, (String) values[i]);
                    } else {
                        statement.setObject(i + 1, values[i]);
                    }
                }
                try (ResultSet result = statement.executeQuery()) {
                    result.next();
                    last = result.getString(1);
                }
            }
            return last;
        }
    }

    static void equal(String is, String expected) {
        if (!expected.equals(is)) {
            throw new AssertionError(is + " is not " + expected);
        }
    }

    public static void main(String[] arguments) throws SQLException {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        connection = DriverManager.getConnection(url, System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
        System.out.println("version: pgjdbc " + connection.getMetaData().getDriverVersion());

        String made = one("INSERT INTO orders (item) VALUES (?) RETURNING id", "pen");
        if (!made.matches("[0-9a-v]{13}")) {
            throw new AssertionError(made);
        }
        equal(one("SELECT item FROM orders WHERE id = ?", made), "pen");
        equal(one("SELECT id FROM orders WHERE id = ANY (?)", connection.createArrayOf("text", new String[] {made, "0000000000000"})), made);
        equal(one("SELECT count(*) FROM orders WHERE id = flake_sealed_or_null(?)", "favicon.ico"), "0");
        equal(one("INSERT INTO line VALUES (?, 1) RETURNING order_id", made), made);
        equal(one("SELECT order_id FROM line WHERE order_id = ?", made), made);
        equal(one("SELECT to_json(orders)->>'id' FROM orders WHERE id = ?", made), made);
        connection.close();
    }
}
