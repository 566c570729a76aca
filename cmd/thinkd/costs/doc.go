// Package costs says what model calls cost: as tables, as comma-separated values and in sentences. It reads the results of usage/report
// and session/quote, and the spending of turn_parked.
//
// What is not known is left out or called unknown: it is never a number. Text of others is cleaned, so that a terminal does not obey it.
// The package does no I/O except writing to the writer that it is given.
//
// Inside the package, files depend in one direction: report, quote, spending, amount.
package costs
