import java.util.Vector;
import org.eclipse.persistence.config.SessionCustomizer;
import org.eclipse.persistence.internal.databaseaccess.Accessor;
import org.eclipse.persistence.internal.sessions.AbstractSession;
import org.eclipse.persistence.queries.DataReadQuery;
import org.eclipse.persistence.sequencing.Sequence;
import org.eclipse.persistence.sessions.Record;
import org.eclipse.persistence.sessions.Session;

/** Ids of flake_next_many(), a preallocation in one round trip: {@code @GeneratedValue(generator = "flake")}. */
public class FlakeSequence extends Sequence {
    public FlakeSequence(String name, int preallocation) {
        super(name, preallocation);
    }

    /** Sealed ids. Everybody may seal what flake_next() itself gives, and nothing else. */
    public static class Sealed extends FlakeSequence {
        public Sealed(String name, int preallocation) {
            super(name, preallocation);
        }

        @Override
        protected String query(int n) {
            return "SELECT flake_next()::flake_sealed::text AS id FROM generate_series(1, " + n + ")";
        }
    }

    /** Named in persistence.xml. */
    public static class Customizer implements SessionCustomizer {
        @Override
        public void customize(Session session) {
            session.getLogin().addSequence(new FlakeSequence("flake", 50));
            session.getLogin().addSequence(new Sealed("flake_sealed", 50));
        }
    }

    protected String query(int n) {
        return "SELECT flake_next_many(" + n + ")::bigint AS id";
    }

    @Override
    public boolean shouldUsePreallocation() {
        return true;
    }

    @Override
    public boolean shouldAcquireValueAfterInsert() {
        return false;
    }

    @Override
    public boolean shouldUseTransaction() {
        return false;
    }

    @Override
    public Object getGeneratedValue(Accessor accessor, AbstractSession session, String name) {
        return getGeneratedVector(accessor, session, name, 1).firstElement();
    }

    @Override
    public Vector<?> getGeneratedVector(Accessor accessor, AbstractSession session, String name, int n) {
        DataReadQuery query = new DataReadQuery(query(n));
        query.setAccessor(accessor);
        Vector<Object> ids = new Vector<>();
        for (Object row : (Vector<?>) session.executeQuery(query)) ids.add(((Record) row).get("id"));
        return ids;
    }

    @Override
    public void onConnect() {}

    @Override
    public void onDisconnect() {}
}
