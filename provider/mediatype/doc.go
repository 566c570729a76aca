// Package mediatype says what a file is: by its first bytes, or by its name.
//
// All functions are pure, and look at a bounded part of the data.
package mediatype
