import org.codehaus.groovy.ast.CodeVisitorSupport
import org.codehaus.groovy.ast.ModuleNode
import org.codehaus.groovy.ast.expr.BinaryExpression
import org.codehaus.groovy.ast.expr.ClosureExpression
import org.codehaus.groovy.ast.expr.ConstantExpression
import org.codehaus.groovy.ast.expr.Expression
import org.codehaus.groovy.ast.expr.MapExpression
import org.codehaus.groovy.ast.expr.MethodCallExpression
import org.codehaus.groovy.ast.expr.VariableExpression
import org.codehaus.groovy.ast.stmt.BlockStatement
import org.codehaus.groovy.ast.stmt.ExpressionStatement
import org.codehaus.groovy.ast.stmt.Statement
import org.codehaus.groovy.control.CompilationFailedException
import org.codehaus.groovy.control.CompilationUnit
import org.codehaus.groovy.control.Phases

/** Reads a Jenkinsfile without running it: its complaints, and its tree of stages. */
class Structure {
    final List<String> problems = []
    final List<String> tree = []
    private Set<String> functions = []

    static Structure of(String text) {
        def structure = new Structure()
        def unit = new CompilationUnit()
        unit.addSource('Jenkinsfile', text)
        try {
            unit.compile(Phases.CONVERSION)
            structure.module(unit.AST.modules[0])
        } catch (CompilationFailedException failure) {
            structure.problems << "syntax: ${failure.message}".toString()
        }
        return structure
    }

    private void module(ModuleNode module) {
        functions = module.methods*.name as Set
        def pipelines = module.statementBlock.statements.findAll { Call.of(it)?.name == 'pipeline' }
        if (pipelines.size() != 1) {
            problems << "one pipeline block is wanted, there are ${pipelines.size()}".toString()
        }
        (module.statementBlock.statements - pipelines).each {
            complain(it, 'beside the pipeline there may be functions only')
        }
        pipelines.each { section(Call.of(it), 0) }
        module.methods.each { free(it.code) }
    }

    /** A block whose children are directives of the grammar. */
    private void section(Call call, int depth) {
        def children = children(call)
        children.each { child ->
            if (!(child.name in Grammar.SECTIONS[call.name])) {
                complain(child.at, "unknown directive ${child.name} in ${call.name}")
            } else {
                directive(child, depth + 1)
            }
        }
        required(call, children*.name)
    }

    private void required(Call call, List<String> names) {
        (Grammar.REQUIRED[call.name] ?: []).findAll { !(it in names) }.each {
            complain(call.at, "${call.name} has no ${it}")
        }
        def repeated = names.countBy { it }.findAll { it.value > 1 && it.key != 'stage' }.keySet()
        repeated.each { complain(call.at, "${call.name} has ${it} more than once") }
        if (call.name == 'stage' && names.count { it in Grammar.WORK_OF_A_STAGE } != 1) {
            complain(call.at, 'a stage has one of steps, stages and parallel')
        }
    }

    private void directive(Call call, int depth) {
        def label = call.text ? "${call.name} ${call.text}" : call.name
        tree << ('  ' * (depth - 1) + label).toString()
        if (call.name in Grammar.SECTIONS) {
            section(call, depth)
        } else if (call.name in Grammar.SETTINGS) {
            settings(call)
        } else if (call.name == 'environment') {
            environment(call)
        } else if (call.name == 'steps' || call.name in Grammar.SECTIONS.post) {
            steps(call)
        } else {
            complain(call.at, "${call.name} is a directive that this grammar says nothing about")
        }
    }

    private void settings(Call call) {
        if (!call.block) {
            if (!(call.name == 'agent' && call.text in ['any', 'none'])) {
                complain(call.at, "${call.name} wants a block")
            }
            return
        }
        children(call).each { check(it, Grammar.SETTINGS[call.name], "${call.name}: unknown") }
    }

    private void environment(Call call) {
        call.statements.each {
            def set = it instanceof ExpressionStatement ? it.expression : null
            if (!(set instanceof BinaryExpression && set.operation.text == '=')) {
                complain(it, 'environment holds NAME = value only')
            }
        }
    }

    /** Steps stand alone in declarative text; anything else needs a script block around it. */
    private void steps(Call call) {
        children(call).each { child ->
            check(child, Grammar.allSteps(), 'unknown step')
            if (child.name == 'script') {
                free(child.block.code)
            } else if (child.block) {
                steps(child)
            }
        }
    }

    /** Groovy as it comes: what is called without an object is a step or a function of the file. */
    private void free(Statement code) {
        def known = Grammar.allSteps() + Grammar.VALUES
        code.visit(new CodeVisitorSupport() {
            void visitMethodCallExpression(MethodCallExpression expression) {
                def call = new Call(expression, expression)
                if (expression.implicitThis && !(call.name in functions)) {
                    check(call, known, 'unknown step')
                }
                super.visitMethodCallExpression(expression)
            }
        })
    }

    private void check(Call call, Map<String, List<String>> known, String complaint) {
        if (!known.containsKey(call.name)) {
            complain(call.at, "${complaint} ${call.name}")
            return
        }
        Grammar.complaints(call.name, known[call.name], call.given(known[call.name])).each {
            complain(call.at, it)
        }
        if (call.name == 'sh' && !(call.argument('script') instanceof ConstantExpression)) {
            complain(call.at, 'sh wants a text that Groovy puts nothing into')
        }
    }

    private List<Call> children(Call call) {
        if (!call.block) {
            complain(call.at, "${call.name} wants a block")
        }
        return call.statements.findResults {
            def child = Call.of(it)
            if (!child) {
                complain(it, "${call.name} holds no free Groovy")
            }
            return child
        }
    }

    private void complain(at, String what) {
        problems << "line ${at.lineNumber}: ${what}".toString()
    }

    /** A call of the form {@code name(arguments) { block }}. */
    static class Call {
        final at
        final MethodCallExpression expression

        Call(at, MethodCallExpression expression) {
            this.at = at
            this.expression = expression
        }

        static Call of(Statement statement) {
            def code = statement instanceof ExpressionStatement ? statement.expression : null
            return code instanceof MethodCallExpression && code.implicitThis ? new Call(statement, code) : null
        }

        String getName() {
            return expression.methodAsString
        }

        private List<Expression> getPlaces() {
            return expression.arguments.expressions
        }

        ClosureExpression getBlock() {
            return places && places.last() instanceof ClosureExpression ? places.last() : null
        }

        List<Statement> getStatements() {
            def code = block?.code
            return code instanceof BlockStatement ? code.statements : []
        }

        /** The argument that stands without a name: of a stage, its title. */
        String getText() {
            def first = places.find { it instanceof ConstantExpression || it instanceof VariableExpression }
            return first?.text
        }

        private Map<String, Expression> getNamed() {
            def maps = places.findAll { it instanceof MapExpression }
            return maps*.mapEntryExpressions.flatten().collectEntries { [it.keyExpression.text, it.valueExpression] }
        }

        private List<Expression> getUnnamed() {
            return places.findAll { !(it instanceof MapExpression || it instanceof ClosureExpression) }
        }

        /** The names of the arguments given; the first without a name is the first that is known. */
        List<String> given(List<String> known) {
            def extra = unnamed.size() > 1 || (unnamed && !known) ? ['without a name'] : []
            return (named.keySet() as List) + (unnamed && known ? [known[0] - '!'] : []) + extra
        }

        Expression argument(String name) {
            return named[name] ?: (unnamed ? unnamed[0] : null)
        }
    }
}
