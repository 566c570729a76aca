// Package telemetry measures what the daemon does, and says where the measurements go: to scrapes of /metrics, and to a
// collector of OpenTelemetry if one is configured.
//
// Prompts, thinking, answers, and the input and output of tools are never measured: only names, numbers, ids, and words of this
// program. Nothing of telemetry goes to a vendor either: requests to models carry no trace.
//
// The daemon calls Turn, Call and Tool when a turn, a model call or a tool call has ended. None of them waits: what the
// collector does not take in time is dropped and counted.
//
// Inside the package, files depend in one direction: telemetry, spans, counts, pipeline, environment, config.
package telemetry
