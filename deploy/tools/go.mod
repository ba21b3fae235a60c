// Tools that pack placementsync, and are no part of it.
module placementsync/deploy/tools

go 1.26.0

require github.com/CycloneDX/cyclonedx-go v0.9.2
