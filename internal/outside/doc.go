// Package outside sees the project as another module does: under its public path, with the example
// of each library as a program of its own. There is nothing to import.
//
// # Limitations
//
// The other module finds Weir by a replace directive, as one does until the path is published.
package outside
