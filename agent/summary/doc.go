// Package summary asks a model for a summary of the earlier part of a conversation.
//
// The call belongs to no turn. It has no tools, and as little thinking as the model allows. The model gets the turns as one
// text, so no vendor's rules for tools and thinking apply, and parts that are too long for the model can be shortened.
package summary
