/**
 * The course of a build: what a call means depends on the section that it stands in. Only files
 * get here whose structure has no problem.
 */
class Course {
    final Build build
    private String section = ''
    private Map<String, Closure> sections = [:]
    private final List<Map> stages = []

    Course(Build build) {
        this.build = build
    }

    Object call(String name, List arguments) {
        if (name == 'pipeline') {
            return pipeline(arguments[0])
        }
        def args = new ArrayList(arguments)
        def body = args && args.last() instanceof Closure ? args.remove(args.size() - 1) : null
        if (section in ['pipeline', 'stage', 'stages', 'post']) {
            return directive(name, args, body)
        }
        def known = Grammar.SETTINGS[section] ?: Grammar.allSteps() + Grammar.VALUES
        def given = named(known[name] ?: Grammar.VALUES[name], args)
        if (section == 'parameters') {
            parameter(name, given)
        } else if (name in Grammar.VALUES) {
            return given
        } else if (section in Grammar.SETTINGS) {
            build.log << "${section}: ${name}".toString()
        } else {
            return build.step(name, given, body)
        }
        return null
    }

    /** An assignment without {@code def}: those of the environment block. */
    void assign(String name, Object value) {
        if (section != 'environment') {
            throw new MissingPropertyException("assignment to ${name} outside environment")
        }
        build.env[name] = value as String
    }

    private void pipeline(Closure body) {
        inside('pipeline', body)
        ['agent', 'parameters', 'triggers', 'options', 'environment'].each { name ->
            if (sections[name]) {
                inside(name, sections[name])
            }
        }
        inside('stages', sections.stages)
        stages.each { carryOut(it) }
        post().each { condition -> build.attempt { inside('steps', condition) } }
    }

    private void directive(String name, List args, Closure body) {
        if (section == 'stages') {
            stages << [title: args[0] as String, body: body]
        } else if (section == 'pipeline' || (section == 'stage' && name == 'steps') || section == 'post') {
            sections[name] = body
        } else {
            throw new UnsupportedOperationException("the recorder cannot carry out ${name} in ${section}")
        }
    }

    private void carryOut(Map stage) {
        if (build.result in ['FAILURE', 'ABORTED']) {
            build.stages[stage.title] = 'skipped'
            return
        }
        inside('stage', stage.body)
        def steps = sections.steps
        build.stages[stage.title] = build.attempt { inside('steps', steps) }
    }

    /** Conditions that hold for the result, {@code always} first and {@code cleanup} last. */
    private List<Closure> post() {
        if (!sections.post) {
            return []
        }
        def body = sections.post
        sections = [:]
        inside('post', body)
        def order = ['always', build.result.toLowerCase(), 'cleanup']
        def unknown = sections.keySet() - order - ['success', 'unstable', 'failure', 'aborted']
        if (unknown) {
            throw new UnsupportedOperationException("the recorder cannot carry out post ${unknown}")
        }
        return order.findResults { sections[it] }
    }

    private void parameter(String name, Map given) {
        def wanted = build.scenario.parameters ?: [:]
        def value = wanted.containsKey(given.name) ? wanted[given.name] : given.defaultValue
        if (name == 'choice') {
            value = wanted.containsKey(given.name) ? value : given.choices[0]
            assert value in given.choices
        }
        build.params[given.name] = given.trim ? value.trim() : value
    }

    private static Map named(List<String> known, List args) {
        def given = args && args[0] instanceof Map ? new LinkedHashMap(args[0]) : [:]
        def unnamed = args.findAll { !(it instanceof Map) }
        if (unnamed) {
            given[known[0] - '!'] = unnamed[0]
        }
        return given
    }

    private void inside(String name, Closure body) {
        def before = section
        section = name
        try {
            body()
        } finally {
            section = before
        }
    }
}
