// recorder.groovy REQUEST ANSWER: checks Jenkinsfiles and runs them against scenarios.
//
// The request is a JSON list of {"jenkinsfile": path, "scenario": null or {"workspace": path,
// "parameters": {}, "credentials": {id: path}, "abort_at": path}}; the answer is one JSON object
// for each. A file with problems is not run.

import org.codehaus.groovy.control.CompilerConfiguration

Map answer(Map asked) {
    def text = new File(asked.jenkinsfile as String).text
    def structure = Structure.of(text)
    def report = [problems: structure.problems, tree: structure.tree]
    if (!structure.problems && asked.scenario != null) {
        report += run(text, asked.scenario)
    }
    return report
}

Map run(String text, Map scenario) {
    def configuration = new CompilerConfiguration(scriptBaseClass: Pipeline.name)
    def pipeline = new GroovyShell(getClass().classLoader, new Binding(), configuration).parse(text, 'Jenkinsfile')
    def build = new Build(scenario)
    pipeline.course = new Course(build)
    pipeline.run()
    return [result: build.result, description: build.description, stages: build.stages,
            steps : build.steps, log: build.log, mistakes: build.mistakes, params: build.params]
}

def asked = new groovy.json.JsonSlurper().parse(new File(args[0]))
new File(args[1]).text = groovy.json.JsonOutput.toJson(asked.collect { answer(it) })
