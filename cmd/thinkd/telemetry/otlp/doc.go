// Package otlp encodes spans and metrics of OpenTelemetry's SDK as OTLP, and sends them over HTTP in Protocol Buffers or JSON
// (opentelemetry.io: "OTLP Specification").
//
// A collector that is down, slow, or refuses requests harms nothing. An exporter holds one request, tries it a few times for at
// most the time that the SDK gives it, and then drops and counts it. The SDK's own queue is in front of it. The log has one line
// when the collector stops accepting and one line when it accepts again. The exporter reads its answers up to a bound and follows
// no redirects.
//
// docs/dependencies.md has what the official exporters and the generated code of Protocol Buffers cost, which are not used.
//
// Inside the package, files depend in one direction: exporter, send, config, encode, answer, message.
package otlp
