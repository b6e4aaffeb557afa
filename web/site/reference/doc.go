// Package reference describes what a site file can contain: each block with its attributes, their
// types, units, defaults, ranges and examples.
//
// Nothing is written twice. Names and types come from the struct that a block is decoded into, by
// reflection. Explanations and defaults come from the comments of its fields, which go generate
// copies to comments.json. Examples come from the files in examples/, which are site files that
// load. Units, ranges and lists of values stand in facts.go. Tests load each value, and look for
// each default in the code.
//
// A field's comment says what the attribute is. Its default is a clause that starts with "Empty:",
// "Nil:" or "0:". Names of Go fields in it become names of attributes.
//
// # Limitations
//
// A default that is not a value, such as "the number of CPUs", is quoted and not verified. Rules
// that involve several attributes are in their explanations only.
package reference

//go:generate go test -count=1 -run ^TestReferenceIsCurrent$ -update .
