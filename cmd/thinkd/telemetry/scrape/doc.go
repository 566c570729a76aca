// Package scrape writes metrics of OpenTelemetry's SDK in the text format of Prometheus (prometheus.io: "Text-based format"), and
// measures the Go runtime and the process under the names of Prometheus' own client.
//
// Names and labels are written as they are: the instruments have names that Prometheus accepts. docs/dependencies.md compares
// this package with the libraries that do the same.
//
// Inside the package, files depend in one direction: text, runtime, process, value.
package scrape
