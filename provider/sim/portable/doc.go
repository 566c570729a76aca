// Package portable has the rules about tools that more than one wire API keeps: the names of tools, their schemas, the
// types, sizes and numbers of images and other files, and the number of cache marks.
//
// They are the rules by which a vendor refuses what the models of another vendor or a server of tools made. Each refusal
// has the vendor's words, as users of agents reported them. The rules are plain errors; a face puts them into its form.
package portable
