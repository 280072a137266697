import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.tool.hbm2ddl.SchemaExport;
import org.hibernate.tool.hbm2ddl.SchemaValidator;

class Use {
    static final String URL =
            "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");

    static void check(Object found, Object expected) {
        if (!expected.equals(found)) throw new AssertionError(found + " is not " + expected);
    }

    static Configuration configuration() {
        return new Configuration()
                .setProperty("hibernate.connection.url", URL)
                .setProperty("hibernate.connection.username", System.getenv("PGUSER"))
                .setProperty("hibernate.connection.password", System.getenv("PGPASSWORD"))
                .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
                .setProperty("hibernate.jdbc.batch_size", "50")
                .addAnnotatedClass(Order.class)
                .addAnnotatedClass(Line.class)
                .addAnnotatedClass(Ticket.class)
                .addAnnotatedClass(Reply.class);
    }

    static String[] difference(Connection connection) throws Exception {
        Configuration configuration = configuration();
        org.hibernate.dialect.Dialect dialect = new org.hibernate.dialect.PostgreSQLDialect();
        return configuration.generateSchemaUpdateScript(
                dialect, new org.hibernate.tool.hbm2ddl.DatabaseMetadata(connection, dialect));
    }

    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(URL, System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE EXTENSION flakeid");

            // The first migration creates, the second has nothing to do, and dropping everything leaves nothing.
            for (int round = 0; round < 2; round++) {
                for (String change : difference(connection)) statement.execute(change);
                check(difference(connection).length, 0);
                new SchemaValidator(configuration()).validate();
                check(tables(connection), "lines orders replies tickets");
                if (round == 0) {
                    new SchemaExport(configuration(), connection).drop(false, true);
                    check(tables(connection), "");
                }
            }

            SessionFactory factory = configuration().buildSessionFactory();
            use(factory, statement);
            useSealed(factory);
            factory.close();
        }
    }

    static String tables(Connection connection) throws Exception {
        TreeSet<String> names = new TreeSet<>();
        try (ResultSet rows = connection.getMetaData().getTables(null, "public", null, new String[] {"TABLE"})) {
            while (rows.next()) names.add(rows.getString("TABLE_NAME"));
        }
        return String.join(" ", names);
    }

    static void use(SessionFactory factory, Statement statement) throws Exception {
        // 80 orders with two lines each
        Session session = factory.openSession();
        session.beginTransaction();
        List<Order> orders = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            Order order = new Order("item " + i);
            order.lines.add(new Line(order));
            order.lines.add(new Line(order));
            session.save(order);
            orders.add(order);
        }
        session.getTransaction().commit();
        session.close();
        List<Long> ids = orders.stream().map(order -> order.id).toList();
        check(new ArrayList<>(new TreeSet<>(ids)), ids);
        check(ids.get(0) > 1L << 53, true);

        session = factory.openSession();
        Order first = (Order) session.get(Order.class, ids.get(0));
        check(first.item, "item 0");
        check(first.lines.size(), 2);
        check(first.lines.get(0).order == first, true);
        check(session.createQuery("select max(id) from Order").uniqueResult(), ids.get(79));
        check(session.createQuery("from Order where id in (:ids)").setParameterList("ids", ids).list().size(), 80);

        // Pages by the last id seen
        List<Object> seen = new ArrayList<>();
        for (Object last = 0L; seen.size() < 80; last = seen.get(seen.size() - 1))
            seen.addAll(session.createQuery("select id from Order where id > :last order by id")
                    .setParameter("last", last).setMaxResults(10).list());
        check(seen, ids);

        // Native SQL: say of which type the column is.
        check(session.createSQLQuery("SELECT id FROM orders ORDER BY id LIMIT 1")
                .addScalar("id", org.hibernate.type.StandardBasicTypes.LONG).uniqueResult(), ids.get(0));
        check(session.createSQLQuery("SELECT cast(json_build_object('id', id)->>'id' AS text) AS id FROM orders ORDER BY id LIMIT 1")
                .addScalar("id", org.hibernate.type.StandardBasicTypes.STRING).uniqueResult(), ids.get(0).toString());
        session.close();

        // A row that somebody else inserts has an id of its own.
        check(statement.executeUpdate("INSERT INTO orders (item) VALUES ('by hand')"), 1);
        try (ResultSet row = statement.executeQuery("SELECT count(DISTINCT id) FROM (SELECT id FROM orders UNION ALL SELECT id FROM lines) AS s")) {
            row.next();
            check(row.getInt(1), 81 + 160);
        }
    }

    /** Sealed ids are texts, and a text that is none is no row. */
    static void useSealed(SessionFactory factory) throws Exception {
        Session session = factory.openSession();
        session.beginTransaction();
        List<Ticket> tickets = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            Ticket ticket = new Ticket("item " + i);
            session.save(ticket);
            session.save(new Reply(ticket));
            tickets.add(ticket);
        }
        session.getTransaction().commit();
        session.close();
        List<String> ids = tickets.stream().map(ticket -> ticket.id).toList();
        check(ids.get(0).matches("[0-9a-v]{13}"), true);

        session = factory.openSession();
        check(session.createQuery("select id from Ticket order by id").list(), ids);
        check(((Ticket) session.get(Ticket.class, ids.get(6))).item, "item 6");
        check(session.createQuery("from Ticket where id in (:ids)").setParameterList("ids", ids).list().size(), 80);
        Reply reply = (Reply) session.createQuery("from Reply where ticket.id = :id").setParameter("id", ids.get(6)).uniqueResult();
        check(reply.ticket.item, "item 6");
        for (String text : List.of("favicon.ico", "", ids.get(7)))
            check(session.createQuery("from Ticket where id = flake_sealed_or_null(:text)").setParameter("text", text).list().size(),
                    text.equals(ids.get(7)) ? 1 : 0);
        session.close();
    }
}
