import java.util.ArrayList;
import java.util.List;
import javax.persistence.CascadeType;
import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.Id;
import javax.persistence.OneToMany;
import javax.persistence.OrderBy;
import javax.persistence.Table;
import org.hibernate.annotations.GenericGenerator;
import org.hibernate.annotations.Parameter;

@Entity
@Table(name = "orders")
public class Order {
    @Id
    @GeneratedValue(generator = "flake")
    @GenericGenerator(name = "flake", strategy = "FlakeGenerator", parameters = @Parameter(name = "block", value = "50"))
    @Column(columnDefinition = "flake DEFAULT flake_next()")
    public Long id;

    public String item;

    @OneToMany(mappedBy = "order", cascade = CascadeType.ALL)
    @OrderBy("id")
    public List<Line> lines = new ArrayList<>();

    public Order() {}

    public Order(String item) {
        this.item = item;
    }
}
