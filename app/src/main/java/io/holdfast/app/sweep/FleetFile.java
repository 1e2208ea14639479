package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.NodeId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Who belongs to a fleet, one a line; empty lines and those that begin with # are left out.
 *
 * <pre>
 *   node n1 10.0.0.11:7010
 *   node n2 10.0.0.12:7010
 *   worker 10.0.0.21:7001
 * </pre>
 */
record FleetFile(Map<NodeId, String> nodes, List<String> workers) {

    static FleetFile read(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new HoldfastException(
                    Category.GONE, "there is no fleet file " + file, "write one: node NAME HOST:PORT a line", null);
        }
        Map<NodeId, String> nodes = new TreeMap<>();
        List<String> workers = new ArrayList<>();
        int number = 0;
        for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
            number++;
            String[] words = line.strip().split("\\s+");
            if (line.isBlank() || words[0].startsWith("#")) {
                continue;
            }
            if (words.length == 3 && words[0].equals("node")) {
                if (nodes.put(new NodeId(words[1]), words[2]) != null) {
                    throw HoldfastException.misuse("node " + words[1] + " is named twice", "name each node once");
                }
            } else if (words.length == 2 && words[0].equals("worker")) {
                workers.add(words[1]);
            } else {
                throw HoldfastException.misuse(
                        "line " + number + " of the fleet file is '" + line + "'",
                        "write node NAME HOST:PORT or worker HOST:PORT");
            }
        }
        return new FleetFile(nodes, workers);
    }
}
