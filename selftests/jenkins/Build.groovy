import java.nio.file.FileSystems
import java.nio.file.FileVisitOption
import java.nio.file.Files
import java.nio.file.Path

/**
 * One build: its parameters and environment, what its steps do, and what is recorded of them.
 *
 * Shell steps are carried out for real in the workspace; publishers are recorded. Parameters are
 * not in the environment of the shell, as in the first build of a job.
 */
class Build {
    static final List RESULTS = ['SUCCESS', 'UNSTABLE', 'FAILURE', 'ABORTED']

    static class Failed extends RuntimeException {
        Failed(String message) { super(message) }
    }

    static class Aborted extends RuntimeException { }

    final File workspace
    final Map scenario
    final Map params = [:]
    final Map<String, String> env = [:]
    final List<Map> steps = []
    final Map<String, String> stages = [:]
    final List<String> log = []
    /** What went wrong in the Groovy of the file itself, not in a step. */
    final List<String> mistakes = []
    private final List<String> within = []
    String result = 'SUCCESS'
    String description
    private boolean aborted

    Build(Map scenario) {
        this.scenario = scenario
        workspace = new File(scenario.workspace as String)
    }

    void worsen(String to) {
        result = [result, to].max { RESULTS.indexOf(it) }
    }

    /** Runs a part of the build; returns how it ended, which counts for the build too. */
    String attempt(Closure part) {
        def before = result
        result = 'SUCCESS'
        try {
            part()
        } catch (Aborted ignored) {
            worsen('ABORTED')
        } catch (Failed failure) {
            log << failure.message
            worsen('FAILURE')
        } catch (Exception mistake) {
            mistakes << mistake.toString()
            worsen('FAILURE')
        }
        def ended = result
        worsen(before)
        return ended
    }

    Object step(String name, Map given, Closure body) {
        def shown = given.collectEntries { key, value -> [key, value instanceof Map ? value : value as String] }
        def entry = [step: name, args: shown, 'in': within.collect()]
        steps << entry
        if (body == null) {
            return "do_${name}"(given, entry)
        }
        return "in_${name}"(given) {
            within << name
            try {
                return body()
            } finally {
                within.remove(within.size() - 1)
            }
        }
    }

    // --- steps with a block ---

    Object in_script(Map given, Closure body) {
        return body()
    }

    Object in_timeout(Map given, Closure body) {
        return body()
    }

    /** The workspace's diary says when the lock was held, beside what the commands write there. */
    Object in_lock(Map given, Closure body) {
        diary("locked ${given.resource}")
        try {
            return body()
        } finally {
            diary("unlocked ${given.resource}")
        }
    }

    Object in_withCredentials(Map given, Closure body) {
        def names = given.bindings.collect {
            if (!scenario.credentials?.containsKey(it.credentialsId as String)) {
                throw new Failed("no credentials ${it.credentialsId}")
            }
            env[it.variable as String] = scenario.credentials[it.credentialsId as String]
            return it.variable
        }
        try {
            return body()
        } finally {
            names.each { env.remove(it) }
        }
    }

    /** The agent of the key is there for the block alone, and the shell finds it. */
    Object in_sshagent(Map given, Closure body) {
        given.credentials.each {
            if (!scenario.credentials?.containsKey(it as String)) {
                throw new Failed("no credentials ${it}")
            }
        }
        env.SSH_AUTH_SOCK = scenario.credentials[given.credentials[0] as String]
        try {
            return body()
        } finally {
            env.remove('SSH_AUTH_SOCK')
        }
    }

    // --- steps without one ---

    void do_echo(Map given, Map entry) {
        log << (given.message as String)
    }

    void do_error(Map given, Map entry) {
        throw new Failed(given.message as String)
    }

    void do_unstable(Map given, Map entry) {
        log << (given.message as String)
        worsen('UNSTABLE')
    }

    boolean do_fileExists(Map given, Map entry) {
        return new File(workspace, given.file as String).exists()
    }

    String do_readFile(Map given, Map entry) {
        return new File(workspace, given.file as String).text
    }

    Object do_readJSON(Map given, Map entry) {
        return new groovy.json.JsonSlurper().parse(new File(workspace, given.file as String))
    }

    void do_allure(Map given, Map entry) {
        given.results.each {
            if (!new File(workspace, it.path as String).directory) {
                throw new Failed("no Allure results in ${it.path}")
            }
        }
    }

    void do_archiveArtifacts(Map given, Map entry) {
        entry.files = (given.artifacts as String).split(',').collectMany { matching(it.trim()) }
        if (!entry.files && !given.allowEmptyArchive) {
            throw new Failed("no artifacts match ${given.artifacts}")
        }
    }

    void do_junit(Map given, Map entry) {
        entry.files = matching(given.testResults as String)
        if (!entry.files && !given.allowEmptyResults) {
            throw new Failed("no test report matches ${given.testResults}")
        }
        def red = entry.files.any { new File(workspace, it).text =~ /(failures|errors)="[1-9]/ }
        if (red && !given.skipMarkingBuildUnstable) {
            worsen('UNSTABLE')
        }
    }

    Object do_sh(Map given, Map entry) {
        def output = File.createTempFile('output', '.txt')
        def shell = new ProcessBuilder('/bin/sh', '-xe', '-c', given.script as String)
        shell.directory(workspace).redirectErrorStream(false)
        shell.redirectOutput(output).redirectError(ProcessBuilder.Redirect.appendTo(new File(workspace, 'stderr.txt')))
        shell.environment().putAll(env)
        entry.status = finish(shell.start())
        def text = output.text
        output.delete()
        log << text
        if (given.returnStatus) {
            return entry.status
        }
        if (entry.status != 0) {
            throw new Failed("script returned exit code ${entry.status}")
        }
        return given.returnStdout ? text : null
    }

    /**
     * Waits for the end of a command. An abort sends SIGTERM to the whole tree of processes, leaves
     * first, and gives up waiting after a while: so does Jenkins.
     */
    private int finish(Process process) {
        def trigger = scenario.abort_at ? new File(workspace, scenario.abort_at as String) : null
        while (!process.waitFor(20, java.util.concurrent.TimeUnit.MILLISECONDS)) {
            if (!aborted && trigger?.exists()) {
                aborted = true
                (process.descendants().collect(java.util.stream.Collectors.toList()).reverse()
                    + process.toHandle())*.destroy()
                process.waitFor(100, java.util.concurrent.TimeUnit.MILLISECONDS)
                throw new Aborted()
            }
        }
        return process.exitValue()
    }

    private void diary(String line) {
        new File(workspace, 'diary.txt') << "${line}\n"
    }

    private List<String> matching(String pattern) {
        def matcher = FileSystems.default.getPathMatcher("glob:${pattern}")
        def found = []
        def root = workspace.toPath()
        for (Path path : Files.walk(root, FileVisitOption.FOLLOW_LINKS).iterator()) {
            def name = root.relativize(path)
            if (Files.isRegularFile(path) && matcher.matches(name)) {
                found << name.toString()
            }
        }
        return found.sort()
    }
}
