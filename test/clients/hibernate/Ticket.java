import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.Id;
import javax.persistence.Table;
import org.hibernate.annotations.GenericGenerator;

@Entity
@Table(name = "tickets")
public class Ticket {
    @Id
    @GeneratedValue(generator = "flake_sealed")
    @GenericGenerator(name = "flake_sealed", strategy = "FlakeSealedGenerator")
    @Column(columnDefinition = "flake_sealed DEFAULT flake_next()")
    public String id;

    public String item;

    public Ticket() {}

    public Ticket(String item) {
        this.item = item;
    }
}
