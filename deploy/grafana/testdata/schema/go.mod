// Tools for the dashboard. The program does not depend on them.
module placementsync.example/dashboard

go 1.26

require github.com/grafana/grafana-foundation-sdk/go v0.0.7
