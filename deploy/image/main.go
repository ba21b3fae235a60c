// Command image writes the container image of placementsync to a file, without a container
// daemon or a base image. The image contains a static program, a configuration, root certificates,
// licenses, a user, and the folders /tmp and /warehouse. The file is an archive of the OCI image
// layout, for docker load, podman load and skopeo copy. The same input gives the same bytes.
//
// The command is a separate Go module: its dependencies are not dependencies of placementsync.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// options are the flags of the command.
type options struct {
	// binary and out are paths of files. root is the folder of the project.
	binary, root, out string
	version, revision string
	created           time.Time
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "", "the static program")
	flags.StringVar(&o.root, "root", filepath.Join("..", ".."), "the folder of the project")
	flags.StringVar(&o.out, "o", "", "the archive to write")
	flags.StringVar(&o.version, "version", "dev", "version and tag of the image")
	flags.StringVar(&o.revision, "revision", "", "commit")
	seconds := flags.Int64("created", 0, "time of the image in seconds since 1970, as in SOURCE_DATE_EPOCH")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.binary == "" || o.out == "" || flags.NArg() > 0 {
		return errors.New("give -binary FILE and -o FILE")
	}
	o.created = time.Unix(*seconds, 0).UTC()
	img, err := buildImage(o)
	if err != nil {
		return err
	}
	digest, err := writeArchive(o, img)
	if err != nil {
		return fmt.Errorf("write %s: %w", o.out, err)
	}
	_, err = fmt.Fprintf(stdout, "%s\n  digest %s\n", o.out, digest)
	return err
}
