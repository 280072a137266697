import java.util.List;

class Shop {
    public static void main(String[] arguments) throws InterruptedException {
        var options = new FlakeIds.Options();
        options.coordinators = List.of("jdbc:postgresql://%s:%s/%s?user=shop&password=secret".formatted(
            System.getenv("PGHOST"), System.getenv("PGPORT"), System.getenv("PGDATABASE")));
        options.holder = "shop";
        var ids = new FlakeIds(options);
        System.out.println(ids.next());
        ids.close();
    }
}
