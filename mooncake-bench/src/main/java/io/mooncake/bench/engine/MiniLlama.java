package io.mooncake.bench.engine;

import java.util.Random;

/**
 * A Llama that is small, slow and exact: random weights from a seed, root-mean-square norms, rotary positions, grouped-query attention, SwiGLU.
 * Every sum is made in one order and every transcendental is StrictMath's, so that the same tokens give the same bits in every run and
 * on every JVM, however they are divided between computing and reusing. Immutable; any thread.
 */
final class MiniLlama {
    private static final float EPSILON = 1e-5f;
    private static final double ROTARY_BASE = 10_000;

    /**
     * How large it is.
     *
     * @param vocabulary tokens
     * @param layers transformer layers
     * @param width of what goes from layer to layer
     * @param heads of queries
     * @param kvHeads of keys and values, each for {@code heads / kvHeads} of the queries'
     * @param hidden width inside a feed-forward
     */
    record Shape(int vocabulary, int layers, int width, int heads, int kvHeads, int hidden) {
        int headWidth() {
            return width / heads;
        }

        int kvWidth() {
            return kvHeads * headWidth();
        }

        long parameters() {
            long layer = 2L * width * width + 2L * width * kvWidth() + 3L * width * hidden + 2L * width;
            return layers * layer + 2L * vocabulary * width + width;
        }
    }

    /** One layer's weights; a matrix is row by row what each input adds to all outputs. */
    private static final class Layer {
        final float[] attentionGain;
        final float[] query;
        final float[] key;
        final float[] value;
        final float[] output;
        final float[] feedGain;
        final float[] gate;
        final float[] up;
        final float[] down;

        Layer(Shape shape, Random random) {
            attentionGain = gain(shape.width, random);
            query = matrix(shape.width, shape.width, random);
            key = matrix(shape.width, shape.kvWidth(), random);
            value = matrix(shape.width, shape.kvWidth(), random);
            output = matrix(shape.width, shape.width, random);
            feedGain = gain(shape.width, random);
            gate = matrix(shape.width, shape.hidden, random);
            up = matrix(shape.width, shape.hidden, random);
            down = matrix(shape.hidden, shape.width, random);
        }
    }

    private final Shape shape;
    private final float[] embedding;
    private final Layer[] layers;
    private final float[] finalGain;
    private final float[] head;
    private final double[] frequencies;

    MiniLlama(Shape shape, long seed) {
        this.shape = shape;
        Random random = new Random(seed);
        embedding = matrix(shape.vocabulary, shape.width, random);
        layers = new Layer[shape.layers];
        for (int i = 0; i < layers.length; i++) {
            layers[i] = new Layer(shape, random);
        }
        finalGain = gain(shape.width, random);
        head = matrix(shape.width, shape.vocabulary, random);
        frequencies = new double[shape.headWidth() / 2];
        for (int i = 0; i < frequencies.length; i++) {
            frequencies[i] = StrictMath.pow(ROTARY_BASE, -2.0 * i / shape.headWidth());
        }
    }

    Shape shape() {
        return shape;
    }

    private static float[] matrix(int inputs, int outputs, Random random) {
        float[] all = new float[inputs * outputs];
        float spread = (float) Math.sqrt(3.0 / inputs);
        for (int i = 0; i < all.length; i++) {
            all[i] = (2 * random.nextFloat() - 1) * spread;
        }
        return all;
    }

    private static float[] gain(int width, Random random) {
        float[] all = new float[width];
        for (int i = 0; i < width; i++) {
            all[i] = 0.75f + random.nextFloat() / 2;
        }
        return all;
    }

    /** Computes the next token of a request and appends its keys and values; returns what goes into {@link #logits}. */
    float[] forward(int token, KvPages cache) {
        float[] x = new float[shape.width];
        System.arraycopy(embedding, token * shape.width, x, 0, shape.width);
        float[] turns = turns(cache.length());
        for (int l = 0; l < layers.length; l++) {
            Layer layer = layers[l];
            float[] normed = norm(x, layer.attentionGain);
            float[] query = times(normed, layer.query, shape.width);
            float[] key = times(normed, layer.key, shape.kvWidth());
            rotate(query, turns);
            rotate(key, turns);
            cache.put(l, KvPages.KEYS, key);
            cache.put(l, KvPages.VALUES, times(normed, layer.value, shape.kvWidth()));
            add(x, times(attend(query, l, cache), layer.output, shape.width));
            normed = norm(x, layer.feedGain);
            float[] gate = times(normed, layer.gate, shape.hidden);
            float[] up = times(normed, layer.up, shape.hidden);
            for (int i = 0; i < gate.length; i++) {
                up[i] *= gate[i] / (1 + (float) StrictMath.exp(-gate[i]));
            }
            add(x, times(up, layer.down, shape.width));
        }
        cache.advance();
        return x;
    }

    /** What follows a token, by what {@link #forward} returned of it. */
    float[] logits(float[] x) {
        return times(norm(x, finalGain), head, shape.vocabulary);
    }

    /** Each head of the query over the keys and values of all tokens up to this one, wherever their pages are. */
    private float[] attend(float[] query, int layer, KvPages cache) {
        int tokens = cache.length() + 1;
        int width = shape.headWidth();
        int group = shape.heads / shape.kvHeads;
        float scale = (float) (1 / Math.sqrt(width));
        float[] row = new float[shape.kvWidth()];
        float[][] weights = new float[shape.heads][tokens];
        for (int t = 0; t < tokens; t++) {
            cache.get(layer, KvPages.KEYS, t, row);
            for (int h = 0; h < shape.heads; h++) {
                float sum = 0;
                for (int i = 0; i < width; i++) {
                    sum += query[h * width + i] * row[h / group * width + i];
                }
                weights[h][t] = sum * scale;
            }
        }
        for (float[] head : weights) {
            softmax(head);
        }
        float[] out = new float[shape.width];
        for (int t = 0; t < tokens; t++) {
            cache.get(layer, KvPages.VALUES, t, row);
            for (int h = 0; h < shape.heads; h++) {
                for (int i = 0; i < width; i++) {
                    out[h * width + i] += weights[h][t] * row[h / group * width + i];
                }
            }
        }
        return out;
    }

    private static void softmax(float[] values) {
        float highest = Float.NEGATIVE_INFINITY;
        for (float value : values) {
            highest = Math.max(highest, value);
        }
        float sum = 0;
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) StrictMath.exp(values[i] - highest);
            sum += values[i];
        }
        for (int i = 0; i < values.length; i++) {
            values[i] /= sum;
        }
    }

    /** Cosine and sine of what each pair of a head is turned by at a position. */
    private float[] turns(int position) {
        float[] turns = new float[2 * frequencies.length];
        for (int i = 0; i < frequencies.length; i++) {
            turns[2 * i] = (float) StrictMath.cos(position * frequencies[i]);
            turns[2 * i + 1] = (float) StrictMath.sin(position * frequencies[i]);
        }
        return turns;
    }

    private static void rotate(float[] heads, float[] turns) {
        for (int i = 0; i < heads.length; i += 2) {
            float cos = turns[i % turns.length];
            float sin = turns[i % turns.length + 1];
            float a = heads[i];
            float b = heads[i + 1];
            heads[i] = a * cos - b * sin;
            heads[i + 1] = a * sin + b * cos;
        }
    }

    private static float[] norm(float[] x, float[] gain) {
        float squares = 0;
        for (float value : x) {
            squares += value * value;
        }
        float scale = (float) (1 / Math.sqrt(squares / x.length + EPSILON));
        float[] normed = new float[x.length];
        for (int i = 0; i < x.length; i++) {
            normed[i] = x[i] * scale * gain[i];
        }
        return normed;
    }

    /** Input by input, so that each output's sum has one order whether or not the JVM computes several outputs at a time. */
    private static float[] times(float[] x, float[] matrix, int outputs) {
        float[] out = new float[outputs];
        for (int i = 0, row = 0; i < x.length; i++, row += outputs) {
            float value = x[i];
            for (int j = 0; j < outputs; j++) {
                out[j] += value * matrix[row + j];
            }
        }
        return out;
    }

    private static void add(float[] x, float[] more) {
        for (int i = 0; i < x.length; i++) {
            x[i] += more[i];
        }
    }
}
