package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void shouldWriteEveryKindOfValue() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("number", 17L);
        map.put("fraction", 0.25);
        map.put("not a number", Double.NaN);
        map.put("truth", true);
        map.put("nothing", null);
        map.put("text", "a \"b\" \\ \n\u0001");
        map.put("list", List.of(1, Map.of("x", 2)));
        map.put("empty", List.of());
        assertEquals("""
                {
                  "number": 17,
                  "fraction": 0.25,
                  "not a number": null,
                  "truth": true,
                  "nothing": null,
                  "text": "a \\"b\\" \\\\ \\n\\u0001",
                  "list": [
                    1,
                    {
                      "x": 2
                    }
                  ],
                  "empty": []
                }""", Json.text(map));
    }
}
