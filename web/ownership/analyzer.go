package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports uses of a web.Conn by those who do not hold it. Any driver of package analysis
// can run it.
var Analyzer = &analysis.Analyzer{
	Name: "connowner",
	Doc:  "report uses of a web.Conn by a component that has passed it on, or that lets others keep it",
	URL:  "https://pkg.go.dev/weir/web/ownership",
	Run:  run,
}

// webPath is the package whose Conn it is about.
const webPath = "weir/web"

func run(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Path() == webPath {
		return nil, nil // it is what passes them on
	}
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch f := n.(type) {
			case *ast.FuncDecl:
				if f.Body != nil {
					function(pass, f, f.Type, f.Body)
				}
			case *ast.FuncLit:
				function(pass, f, f.Type, f.Body)
			}
			return true
		})
	}
	return nil, nil
}

// function checks one function, without those in it for what is passed on, and with those in it for
// what is lent to it.
func function(pass *analysis.Pass, f ast.Node, signature *ast.FuncType, body *ast.BlockStmt) {
	if conn := borrowed(pass.TypesInfo, signature); conn != nil {
		newLoan(pass, f, conn).check(body)
	}
	passedOn(pass, body)
}

// borrowed is the parameter by which a function is lent a Conn: the only parameter that it has, as
// for a component's Handle, a Source, a Filter and a Pipe. Who takes a Conn and more may be a part
// of a network that passes it on.
func borrowed(info *types.Info, signature *ast.FuncType) *types.Var {
	if signature.Params.NumFields() != 1 || len(signature.Params.List[0].Names) != 1 {
		return nil
	}
	v, _ := info.Defs[signature.Params.List[0].Names[0]].(*types.Var)
	if v == nil || !isConn(v.Type()) {
		return nil
	}
	return v
}

// isConn says whether a type is *web.Conn.
func isConn(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok {
		return false
	}
	name := named.Obj()
	return name.Name() == "Conn" && name.Pkg() != nil && name.Pkg().Path() == webPath
}

// mentions gives the first place in n where one of these variables is used, [token.NoPos] when
// there is none.
func mentions(info *types.Info, n ast.Node, who func(types.Object) bool) token.Pos {
	at := token.NoPos
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && at == token.NoPos && info.Uses[id] != nil && who(info.Uses[id]) {
			at = id.Pos()
		}
		return at == token.NoPos
	})
	return at
}
