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
@Table(name = "lines")
public class Line {
    @Id
    @GeneratedValue(generator = "flake")
    @GenericGenerator(name = "flake", strategy = "FlakeGenerator")
    @Column(columnDefinition = "flake DEFAULT flake_next()")
    public Long id;

    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "order_id", nullable = false, columnDefinition = "flake")
    public Order order;

    public Line() {}

    public Line(Order order) {
        this.order = order;
    }
}
