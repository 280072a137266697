import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.GeneratedValue;
import javax.persistence.Id;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;
import org.hibernate.annotations.GenericGenerator;

@Entity
@Table(name = "replies")
public class Reply {
    @Id
    @GeneratedValue(generator = "flake_sealed")
    @GenericGenerator(name = "flake_sealed", strategy = "FlakeSealedGenerator")
    @Column(columnDefinition = "flake_sealed DEFAULT flake_next()")
    public String id;

    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "ticket_id", nullable = false, columnDefinition = "flake_sealed")
    public Ticket ticket;

    public Reply() {}

    public Reply(Ticket ticket) {
        this.ticket = ticket;
    }
}
