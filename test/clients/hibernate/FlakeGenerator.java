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
    private final Queue<Long> ids = new ArrayDeque<>();
    private int block;

    @Override
    public void configure(Type type, Properties parameters, Dialect dialect) {
        block = Integer.parseInt(parameters.getProperty("block", "50"));
    }

    @Override
    public synchronized Serializable generate(SessionImplementor session, Object entity) {
        if (ids.isEmpty()) fetch(session);
        return ids.remove();
    }

    private void fetch(SessionImplementor session) {
        try (PreparedStatement select = session.connection().prepareStatement("SELECT flake_next_many(?)")) {
            select.setInt(1, block);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) ids.add(rows.getLong(1));
            }
        } catch (SQLException e) {
            throw new HibernateException("no ids from flake_next_many()", e);
        }
    }
}
