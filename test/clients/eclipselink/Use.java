import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import javax.persistence.EntityManager;
import javax.persistence.EntityManagerFactory;
import javax.persistence.Persistence;

class Use {
    static final String URL =
            "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");

    static void check(Object found, Object expected) {
        if (!expected.equals(found)) throw new AssertionError(found + " is not " + expected);
    }

    static EntityManagerFactory factory(String ddl) {
        return Persistence.createEntityManagerFactory("shop", Map.of(
                "javax.persistence.jdbc.url", URL,
                "javax.persistence.jdbc.user", System.getenv("PGUSER"),
                "javax.persistence.jdbc.password", System.getenv("PGPASSWORD"),
                "eclipselink.ddl-generation", ddl));
    }

    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(URL, System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE EXTENSION flakeid");

            // It creates, finds nothing to add, and drops and creates again.
            String made = null;
            for (String ddl : List.of("create-tables", "create-or-extend-tables", "drop-and-create-tables")) {
                EntityManagerFactory factory = factory(ddl);
                factory.createEntityManager().close();
                factory.close();
                if (made == null) made = columns(statement);
                check(columns(statement), made);
            }
            check(made, "lines.id flake, lines.order_id flake, orders.id flake, orders.item character varying, "
                    + "replies.id flake_sealed, replies.ticket_id flake_sealed, tickets.id flake_sealed, tickets.item character varying");

            EntityManagerFactory factory = factory("none");
            use(factory, statement);
            useSealed(factory);
            factory.close();
        }
    }

    static String columns(Statement statement) throws Exception {
        try (ResultSet row = statement.executeQuery(
                "SELECT string_agg(format('%s.%s %s', attrelid::regclass, attname, atttypid::regtype), ', ' ORDER BY attrelid::regclass::text, attname)"
                + " FROM pg_attribute JOIN pg_class c ON c.oid = attrelid"
                + " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0")) {
            row.next();
            return row.getString(1);
        }
    }

    static void use(EntityManagerFactory factory, Statement statement) throws Exception {
        EntityManager manager = factory.createEntityManager();
        manager.getTransaction().begin();
        List<Order> orders = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            Order order = new Order("item " + i);
            order.lines.add(new Line(order));
            order.lines.add(new Line(order));
            manager.persist(order);
            orders.add(order);
        }
        manager.getTransaction().commit();
        manager.close();
        List<Long> ids = orders.stream().map(order -> order.id).toList();
        check(new TreeSet<>(ids).size(), 80);
        check(ids.get(0) > 1L << 53, true);

        factory.getCache().evictAll();
        manager = factory.createEntityManager();
        Order first = manager.find(Order.class, ids.get(0));
        check(first.item, "item 0");
        check(first.lines.size(), 2);
        check(first.lines.get(0).order == first, true);
        List<Long> sorted = new ArrayList<>(new TreeSet<>(ids));
        check(manager.createQuery("select max(o.id) from Order o").getSingleResult(), sorted.get(79));
        check(manager.createQuery("select o from Order o where o.id in :ids").setParameter("ids", ids).getResultList().size(), 80);

        // Pages by the last id seen
        List<Long> seen = new ArrayList<>();
        for (Long last = 0L; seen.size() < 80; last = seen.get(seen.size() - 1))
            seen.addAll(manager.createQuery("select o.id from Order o where o.id > :last order by o.id", Long.class)
                    .setParameter("last", last).setMaxResults(10).getResultList());
        check(seen, sorted);

        // Native SQL: the cast tells the driver what it reads.
        check(manager.createNativeQuery("SELECT id::bigint FROM orders ORDER BY id LIMIT 1").getSingleResult(), sorted.get(0));
        check(manager.createNativeQuery("SELECT json_build_object('id', id)->>'id' FROM orders ORDER BY id LIMIT 1").getSingleResult(),
                sorted.get(0).toString());
        manager.close();

        // A row that somebody else inserts has an id of its own.
        check(statement.executeUpdate("INSERT INTO orders (item) VALUES ('by hand')"), 1);
        try (ResultSet row = statement.executeQuery("SELECT count(DISTINCT id) FROM (SELECT id FROM orders UNION ALL SELECT id FROM lines) AS s")) {
            row.next();
            check(row.getInt(1), 81 + 160);
        }
    }

    /** Sealed ids are texts, and a text that is none is no row. */
    static void useSealed(EntityManagerFactory factory) {
        EntityManager manager = factory.createEntityManager();
        manager.getTransaction().begin();
        List<Ticket> tickets = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            Ticket ticket = new Ticket("item " + i);
            manager.persist(ticket);
            manager.persist(new Reply(ticket));
            tickets.add(ticket);
        }
        manager.getTransaction().commit();
        manager.close();
        List<String> ids = tickets.stream().map(ticket -> ticket.id).toList();
        check(ids.get(0).matches("[0-9a-v]{13}"), true);

        factory.getCache().evictAll();
        manager = factory.createEntityManager();
        check(manager.find(Ticket.class, ids.get(6)).item, "item 6");
        check(manager.createQuery("select t from Ticket t where t.id in :ids").setParameter("ids", ids).getResultList().size(), 80);
        check(manager.createQuery("select r from Reply r where r.ticket.id = :id", Reply.class)
                .setParameter("id", ids.get(6)).getSingleResult().ticket.item, "item 6");
        for (String text : List.of("favicon.ico", "", ids.get(7)))
            check(manager.createQuery("select t from Ticket t where t.id = function('flake_sealed_or_null', :text)")
                    .setParameter("text", text).getResultList().size(), text.equals(ids.get(7)) ? 1 : 0);
        manager.close();
    }
}
