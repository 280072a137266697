// Appends ids to a file, as many as each line of the input says; "ok NODE" or the error follows.
// At an empty line or the end the node is given back.
//   java -cp ... Ids.java FILE '{"holder": "shop"}'
import java.io.BufferedReader;
import java.io.FileWriter;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class Ids {
    public static void main(String[] arguments) throws Exception {
        var options = new FlakeIds.Options();
        // The JDK reads no JSON; these are strings, numbers, and a list of strings.
        Matcher option = Pattern.compile("\"(\\w+)\":\\s*(?:\"([^\"]*)\"|(-?[\\d.e+]+)|\\[([^\\]]*)\\])").matcher(arguments.length > 1 ? arguments[1] : "");
        while (option.find()) {
            String text = option.group(2);
            switch (option.group(1)) {
                case "coordinators" -> options.coordinators = Arrays.asList(option.group(4).replace("\"", "").split(","));
                case "realm" -> options.realm = text;
                case "holder" -> options.holder = text;
                case "layout" -> options.layout = text;
                case "secret" -> options.secret = text;
                case "ttl" -> options.ttl = Double.parseDouble(option.group(3));
                case "timeout" -> options.timeout = Integer.parseInt(option.group(3));
                default -> throw new IllegalArgumentException(option.group());
            }
        }
        var ids = new FlakeIds(options);
        var lines = new BufferedReader(new InputStreamReader(System.in));
        try (var file = new PrintWriter(new FileWriter(arguments[0], true))) {
            for (String line = lines.readLine(); line != null && !line.isEmpty(); line = lines.readLine()) {
                String said;
                try {
                    long id = 0;
                    for (int count = Integer.parseInt(line); count > 0; count--) {
                        id = ids.next();
                        file.println(id);
                    }
                    said = "ok " + (id >> 12 & 1023); // the node, in layout snowflake
                } catch (IllegalStateException error) {
                    said = error.getMessage().replace('\n', ' ');
                }
                file.flush();
                System.out.println(said);
            }
        }
        ids.close();
    }
}
