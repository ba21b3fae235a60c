// Command sbom writes the software bill of materials of programs as CycloneDX 1.6. It lists each
// module with the version recorded by the Go linker and the license in docs/licenses.md, and the
// libraries contained in packages. The same programs give the same bytes.
//
//	sbom LICENSES VERSION PROGRAM...
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom LICENSES VERSION PROGRAM...")
		os.Exit(2)
	}
	if err := writeBOM(os.Stdout, os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func writeBOM(w io.Writer, licensesFile, version string, programs []string) error {
	allLicenses, err := readLicenses(licensesFile)
	if err != nil {
		return err
	}
	product := cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: "placementsync", Name: "placementsync", Version: version, Licenses: licenseChoices("Apache-2.0")}
	componentsByRef := map[string]cdx.Component{}
	dependencyRefs := map[string][]string{}
	for _, program := range programs {
		c, modules, err := readProgram(program, version, allLicenses)
		if err != nil {
			return err
		}
		componentsByRef[c.BOMRef] = c
		dependencyRefs[product.BOMRef] = append(dependencyRefs[product.BOMRef], c.BOMRef)
		for _, m := range modules {
			componentsByRef[m.BOMRef] = m
			dependencyRefs[c.BOMRef] = append(dependencyRefs[c.BOMRef], m.BOMRef)
		}
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &product}
	components := slices.SortedFunc(maps.Values(componentsByRef), func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	var dependencies []cdx.Dependency
	for ref, refs := range dependencyRefs {
		slices.Sort(refs)
		dependencies = append(dependencies, cdx.Dependency{Ref: ref, Dependencies: &refs})
	}
	slices.SortFunc(dependencies, func(a, b cdx.Dependency) int { return strings.Compare(a.Ref, b.Ref) })
	bom.Components, bom.Dependencies = &components, &dependencies
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// licenses are the licenses in docs/licenses.md.
type licenses struct {
	// byModule contains the license ids of each module, by path.
	byModule map[string]string
	// contained are the libraries that packages contain.
	contained []library
}

type library struct{ name, within, version, licenseIDs string }

// licenseRow matches a row of docs/licenses.md: a module, or a link to a library and the package that
// contains it.
var licenseRow = regexp.MustCompile(`(?m)^\| (?:\[([^\]]+)\]\([^)]*\), within (\S+)|([^ |]+)) \| ([^|]+) \| ([^|]+) \|`)

func readLicenses(file string) (l licenses, err error) {
	page, err := os.ReadFile(file)
	if err != nil {
		return l, err
	}
	l.byModule = map[string]string{}
	for _, row := range licenseRow.FindAllStringSubmatch(string(page), -1) {
		if licenseIDs := strings.TrimSpace(row[5]); row[1] != "" {
			l.contained = append(l.contained, library{row[1], row[2], strings.TrimSpace(row[4]), licenseIDs})
		} else {
			l.byModule[row[3]] = licenseIDs
		}
	}
	if len(l.byModule) < 50 || len(l.contained) == 0 {
		return l, fmt.Errorf("read %s: found %d modules and %d contained libraries, expected at least 50 and 1", file, len(l.byModule), len(l.contained))
	}
	return l, nil
}

func licenseChoices(licenseIDs string) *cdx.Licenses {
	if licenseIDs == "" {
		return nil
	}
	var all cdx.Licenses
	for id := range strings.SplitSeq(licenseIDs, ", ") {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &all
}

// readProgram returns the component of a program, and the components that the program contains.
func readProgram(file, version string, allLicenses licenses) (program cdx.Component, parts []cdx.Component, err error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program, nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return program, nil, err
	}
	sum := sha256.Sum256(data)
	name := filepath.Base(file)
	program = cdx.Component{Type: cdx.ComponentTypeFile, BOMRef: "program:" + name, Name: name, Version: version, Licenses: licenseChoices("Apache-2.0"),
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}}
	parts = append(parts, libraryComponent("std", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/std@", "BSD-3-Clause"))
	for _, m := range info.Deps {
		if m.Replace != nil { // the lake contains the module of this project
			continue
		}
		parts = append(parts, libraryComponent(m.Path, m.Version, "pkg:golang/"+m.Path+"@", allLicenses.byModule[m.Path]))
	}
	for _, l := range allLicenses.contained {
		if bytes.Contains(data, []byte(l.within)) { // a program contains the paths of its packages
			parts = append(parts, libraryComponent(l.name, l.version, "pkg:generic/"+strings.ToLower(strings.ReplaceAll(l.name, " ", "-"))+"@", l.licenseIDs))
		}
	}
	return program, parts, nil
}

func libraryComponent(name, version, urlPrefix, licenseIDs string) cdx.Component {
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: urlPrefix + version, Name: name, Version: version, PackageURL: urlPrefix + version, Licenses: licenseChoices(licenseIDs)}
}
