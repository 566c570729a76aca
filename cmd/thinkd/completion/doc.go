// Package completion finds the values that a shell offers for a flag or an argument: models, sessions, agents and providers, as the
// daemon lists them, or as they are on disk while no daemon runs.
package completion
