// Tools that look at the dashboard: nothing of the program needs them.
module placementsync.example/dashboard

go 1.26

require github.com/grafana/grafana-foundation-sdk/go v0.0.7
