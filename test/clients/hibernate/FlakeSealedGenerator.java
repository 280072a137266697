import java.sql.ResultSet;
import java.sql.SQLException;

/** Sealed ids, so many in one round trip. Everybody may seal what flake_next() itself gives, and nothing else. */
public class FlakeSealedGenerator extends FlakeGenerator {
    public FlakeSealedGenerator() {
        super("SELECT flake_next()::flake_sealed FROM generate_series(1, ?)");
    }

    @Override
    protected String read(ResultSet rows) throws SQLException {
        return rows.getString(1);
    }
}
