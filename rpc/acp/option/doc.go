// Package option has the configuration options that editors show for a session: the model, the mode, the level of thinking, and what else
// can be asked of the model's calls.
//
// [List] is a pure function of a session's state, and [Change] of an editor's choice. The list depends on the model: another model has other
// levels, and takes other words of the model_config options. So a change of one option is answered with the whole list.
//
// Inside the package, files depend in one direction: option, change, list.
package option
