import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.GZIPInputStream;
import org.apache.jena.rdfpatch.RDFPatch;
import org.apache.jena.rdfpatch.RDFPatchOps;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFLanguages;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.lang.LabelToNode;
import org.apache.jena.riot.system.StreamRDF;
import org.apache.jena.riot.system.StreamRDFWriter;
import org.apache.jena.sys.JenaSystem;

/**
 * Has Apache Jena, with Jelly-JVM, read a file and write it in another format: "rdf" for statements
 * and "patch" for RDF Patch text. Formats are told by the files' endings.
 */
public final class Interop {
    private Interop() {}

    public static void main(String[] arguments) throws Exception {
        JenaSystem.init();
        String source = arguments[1];
        try (InputStream in = open(source);
                OutputStream out =
                        new BufferedOutputStream(new FileOutputStream(arguments[2]), 1 << 16)) {
            if (arguments[0].equals("patch")) {
                RDFPatch patch = RDFPatchOps.read(in);
                RDFPatchOps.write(out, patch);
            } else {
                convert(in, format(source), out, format(arguments[2]));
            }
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

    private static void convert(InputStream in, Lang from, OutputStream out, Lang to) {
        StreamRDF writer = StreamRDFWriter.getWriterStream(out, to);
        RDFParser.source(in).lang(from).labelToNode(LabelToNode.createUseLabelAsGiven()).parse(writer);
    }
}
