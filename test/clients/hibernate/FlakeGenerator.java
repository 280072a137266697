import java.io.Serializable;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Properties;
import java.util.Queue;
import org.hibernate.HibernateException;
import org.hibernate.dialect.Dialect;
import org.hibernate.engine.SessionImplementor;
import org.hibernate.id.Configurable;
import org.hibernate.id.IdentifierGenerator;
import org.hibernate.type.Type;

/** Ids of flake_next_many(), so many in one round trip; parameter "block" says how many. */
public class FlakeGenerator implements IdentifierGenerator, Configurable {
    private final Queue<Serializable> ids = new ArrayDeque<>();
    private final String query;
    private int block;

    public FlakeGenerator() {
        this("SELECT flake_next_many(?)");
    }

    protected FlakeGenerator(String query) {
        this.query = query;
    }

    @Override
    public void configure(Type type, Properties parameters, Dialect dialect) {
        block = Integer.parseInt(parameters.getProperty("block", "50"));
    }

    @Override
    public synchronized Serializable generate(SessionImplementor session, Object entity) {
        if (ids.isEmpty()) fetch(session);
        return ids.remove();
    }

    protected Serializable read(ResultSet rows) throws SQLException {
        return rows.getLong(1);
    }

    private void fetch(SessionImplementor session) {
        try (PreparedStatement select = session.connection().prepareStatement(query)) {
            select.setInt(1, block);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) ids.add(read(rows));
            }
        } catch (SQLException e) {
            throw new HibernateException("no ids from " + query, e);
        }
    }
}
