package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeComponents writes the list of the modules in a program next to it,
// from the program's build information. It refuses a program whose build
// information lacks the commit.
func writeComponents(program string, from commit) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: from.id}) {
		return fmt.Errorf("%s does not say that it was built from %s: build it in a clone of its own", program, from.id)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	bom := componentsOf(info, filepath.Base(program), sha256.Sum256(content), from.time)
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(program+".cdx.json", text.Bytes(), 0o644)
}

func componentsOf(info *debug.BuildInfo, name string, sum [sha256.Size]byte, at time.Time) *cyclonedx.BOM {
	components := []cyclonedx.Component{{
		BOMRef: "go", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion,
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		at := "pkg:golang/" + m.Path + "@" + m.Version
		components = append(components, cyclonedx.Component{
			BOMRef: at, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: at,
		})
	}
	bom := cyclonedx.NewBOM()
	// The serial number depends only on the program.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceOID, sum[:]).URN()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: at.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: info.Main.Version,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}},
		},
	}
	bom.Components = &components
	return bom
}
