/**
 * What a Jenkinsfile is when it runs: a script whose names and calls are those of its build.
 */
abstract class Pipeline extends Script {
    Course course

    /** Names of Jenkins; everything else is a variable of the file. */
    Object getProperty(String name) {
        switch (name) {
            case 'any': return 'any'
            case 'params': return course.build.params.asImmutable()
            case 'env': return new Environment(course.build.env)
            case 'currentBuild': return course.build
            default: return super.getProperty(name)
        }
    }

    void setProperty(String name, Object value) {
        if (name == 'course') {
            this.@course = value
        } else {
            course.assign(name, value)
        }
    }

    Object methodMissing(String name, Object arguments) {
        return course.call(name, arguments as List)
    }

    /** The environment as {@code env.NAME}: every value is a text. */
    static class Environment {
        private final Map<String, String> values

        Environment(Map<String, String> values) {
            this.values = values
        }

        Object getProperty(String name) {
            return this.@values[name]
        }

        void setProperty(String name, Object value) {
            this.@values[name] = value as String
        }
    }
}
