// Package room estimates the memory that sessions take, so that one client cannot fill the machine.
//
// It is arithmetic, and roughly right: sizes of strings, and a constant for each block, message and turn.
package room
