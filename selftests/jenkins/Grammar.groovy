/**
 * What may stand where in a declarative pipeline, and which steps there are: an allow-list.
 *
 * Directives are those of Jenkins' pipeline syntax; options, triggers and steps are those that this
 * project's Jenkinsfile has a use for, with the arguments that their plugins document. A new one is
 * added here after a look at its documentation, never to make a test green.
 */
class Grammar {
    static final Map SECTIONS = [
        pipeline: ['agent', 'environment', 'options', 'parameters', 'post', 'stages', 'triggers'],
        stages  : ['stage'],
        stage   : ['agent', 'environment', 'options', 'parallel', 'post', 'stages', 'steps', 'when'],
        parallel: ['stage'],
        post    : ['aborted', 'always', 'changed', 'cleanup', 'failure', 'fixed', 'regression',
                   'success', 'unstable', 'unsuccessful'],
    ]
    static final Map REQUIRED = [pipeline: ['agent', 'stages']]
    static final Set WORK_OF_A_STAGE = ['steps', 'stages', 'parallel']

    // name: its arguments; those that end in ! must be given. The first is the one without a name.
    static final Map SETTINGS = [
        agent     : [label: ['label!']],
        parameters: [
            string      : ['name!', 'defaultValue', 'description', 'trim'],
            choice      : ['name!', 'choices!', 'description'],
            booleanParam: ['name!', 'defaultValue', 'description'],
        ],
        triggers  : [cron: ['spec!']],
        options   : [timestamps: [], buildDiscarder: ['strategy!'], timeout: ['time!', 'unit']],
    ]
    static final Map STEPS = [
        allure          : ['results!', 'reportBuildPolicy', 'includeProperties', 'jdk', 'commandline'],
        archiveArtifacts: ['artifacts!', 'allowEmptyArchive', 'fingerprint'],
        echo            : ['message!'],
        error           : ['message!'],
        fileExists      : ['file!'],
        junit           : ['testResults!', 'allowEmptyResults', 'skipMarkingBuildUnstable'],
        readFile        : ['file!', 'encoding'],
        readJSON        : ['file!', 'returnPojo'],
        sh              : ['script!', 'returnStatus', 'returnStdout', 'label'],
        unstable        : ['message!'],
    ]
    static final Map BLOCK_STEPS = [
        lock           : ['resource!'],
        script         : [],
        sshagent       : ['credentials!', 'ignoreMissing'],
        timeout        : ['time!', 'unit'],
        withCredentials: ['bindings!'],
    ]
    /** What makes a value for an argument of another one. */
    static final Map VALUES = [
        file      : ['credentialsId!', 'variable!'],
        logRotator: ['numToKeepStr', 'artifactNumToKeepStr'],
    ]

    static Map allSteps() {
        return STEPS + BLOCK_STEPS
    }

    /** Complaints about the names of the arguments that a call gives. */
    static List<String> complaints(String name, List<String> known, Collection<String> given) {
        def names = known.collect { it - '!' }
        def unknown = given.findAll { !(it in names) }.collect { "${name} has no argument ${it}" }
        def missing = known.findAll { it.endsWith('!') && !((it - '!') in given) }
        return (unknown + missing.collect { "${name} needs ${it - '!'}" })*.toString()
    }
}
