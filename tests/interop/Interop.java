import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import org.apache.jena.rdfpatch.RDFPatch;
import org.apache.jena.rdfpatch.RDFPatchOps;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFFormat;
import org.apache.jena.riot.RDFLanguages;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.ResultSetMgr;
import org.apache.jena.riot.lang.LabelToNode;
import org.apache.jena.riot.resultset.ResultSetLang;
import org.apache.jena.riot.system.StreamRDF;
import org.apache.jena.riot.system.StreamRDFWriter;
import org.apache.jena.sys.JenaSystem;

/**
 * Reads a file with Apache Jena and Jelly-JVM, and writes it in another format: "rdf" for
 * statements, "values" for statements with value forms, "patch" for RDF Patch and "results" for
 * SPARQL results. The suffixes of the files determine the formats. "batch" does this for each line
 * of a file, which has the task, the source and the target, and prints the outcomes.
 */
public final class Interop {
    private Interop() {}

    public static void main(String[] arguments) throws Exception {
        JenaSystem.init();
        if (arguments[0].equals("batch")) {
            for (String line : Files.readAllLines(Path.of(arguments[1]))) {
                String[] parts = line.split("\t");
                try {
                    convert(parts[0], parts[1], parts[2]);
                    System.out.println("done");
                } catch (Exception | StackOverflowError error) {
                    System.out.println("failed " + String.valueOf(error).replaceAll("\\s+", " "));
                }
            }
        } else {
            convert(arguments[0], arguments[1], arguments[2]);
        }
    }

    private static void convert(String what, String source, String target) throws Exception {
        try (InputStream in = open(source);
                OutputStream out =
                        new BufferedOutputStream(new FileOutputStream(target), 1 << 16)) {
            if (what.equals("patch")) {
                patch(in, source.endsWith(".trp"), out, target.endsWith(".trp"));
            } else if (what.equals("results")) {
                ResultSetMgr.write(out, ResultSetMgr.read(in, results(source)), results(target));
            } else {
                Lang to = format(target);
                StreamRDF writer = StreamRDFWriter.getWriterStream(out, to);
                if (what.equals("values")) {
                    boolean thrift = to.equals(Lang.RDFTHRIFT);
                    writer =
                            StreamRDFWriter.getWriterStream(
                                    out,
                                    thrift
                                            ? RDFFormat.RDF_THRIFT_VALUES
                                            : RDFFormat.RDF_PROTO_VALUES);
                }
                parse(in, format(source), writer);
            }
        }
    }

    private static void patch(InputStream in, boolean fromBinary, OutputStream out, boolean toBinary) {
        RDFPatch patch = fromBinary ? RDFPatchOps.readBinary(in) : RDFPatchOps.read(in);
        if (toBinary) {
            RDFPatchOps.writeBinary(out, patch);
        } else {
            RDFPatchOps.write(out, patch);
        }
    }

    private static InputStream open(String name) throws Exception {
        InputStream in = new BufferedInputStream(new FileInputStream(name), 1 << 16);
        return name.endsWith(".gz") ? new GZIPInputStream(in, 1 << 16) : in;
    }

    private static Lang format(String name) {
        Lang found = RDFLanguages.filenameToLang(name);
        if (found == null) {
            throw new IllegalArgumentException("no format is known for " + name);
        }
        return found;
    }

    private static Lang results(String name) {
        if (name.endsWith(".srt")) {
            return ResultSetLang.RS_Thrift;
        }
        return name.endsWith(".srp") ? ResultSetLang.RS_Protobuf : ResultSetLang.RS_JSON;
    }

    private static void parse(InputStream in, Lang from, StreamRDF target) {
        RDFParser.source(in)
                .lang(from)
                .base("http://example.org/base/")
                .labelToNode(LabelToNode.createUseLabelAsGiven())
                .parse(target);
    }
}
