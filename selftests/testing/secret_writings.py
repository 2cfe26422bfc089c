"""Ways in which programs, files and people write a secret beside its name.

``{V}`` is a short value, ``{L}`` a long one, ``{B}`` one in base64; braces are doubled.
"""

WRITTEN = r"""
api_key=['{L}']
api_key=["{L}"]
api_key=['{L}', '{L}']
Namespace(api_key=['{L}'], model='x')
Namespace(api_key='{L}', model='x')
{{'api_key': '{L}'}}
{{'api_key': ['{L}']}}
{{"api_key": ["{L}"]}}
{{"api_key" : "{L}"}}
{{"api_key": ["{L}", "{L}"]}}
{{"password" : "{V}"}}
{{"password": "{V} with blanks q7Z"}}
{{"password": "12345678q7Z"}}
{{"password": "a,q7Z"}}
{{"password": "a<q7Z"}}
{{"password": "a;q7Z"}}
{{"password": "(q7Z)abc"}}
{{"password": "a\"q7Z"}}
{{'password': 'it\'s q7Z'}}
{{"token": null, "password": "{V}"}}
{{"HF_TOKEN": "{V}"}}
{{"DB_PASS": "{V}"}}
{{"db_pass": "{V}"}}
{{"env": ["DB_PASS={V}"]}}
{{"name": "DB_PASS", "value": "{V}"}}
{{"name": "HF_TOKEN", "value": "{V}"}}
{{"Name":"HF_TOKEN","Value":"{V}"}}
{{"key": "HF_TOKEN", "value": "{V}"}}
- name: HF_TOKEN value: {V}
- {{name: HF_TOKEN, value: {V}}}
('password', '{V}')
("HF_TOKEN", "{V}")
[('HF_TOKEN', '{V}')]
b'HF_TOKEN={V}'
password = {V}
password = '{V}'
password = "{V}"
password="{V}"
password: '{V}'
password: "{V}"
password: {V} # note
password: >- {V}
password:{V}
password :{V}
password : {V}
password:  {V}
the password: q7Zabc
PASSWORD={V}
Password={V}
pwd={V}
Pwd={V};
PWD: {V}
pass: {V}
pass={V}
passwd={V}
db.password={V}
spring.datasource.password={V}
spring.datasource.password: {V}
db-password: {V}
db-password={V}
dbPassword={V}
dbPassword: {V}
db_password: {V}
dbpassword={V}
mypassword={V}
MyPassword: {V}
adminPassword: {V}
PGPASSWORD={V}
PGPASSWORD={V} psql -h db
export PGPASSWORD={V}
export PGPASSWORD='{V}'
declare -x HF_TOKEN="{V}"
declare -x DB_PASS="{V}"
set HF_TOKEN={V}
$env:HF_TOKEN = "{V}"
os.environ['HF_TOKEN'] = '{V}'
os.environ["HF_TOKEN"]="{V}"
process.env.HF_TOKEN = '{V}'
env.HF_TOKEN='{V}'
env['HF_TOKEN']='{V}'
ENV['HF_TOKEN']='{V}'
HF_TOKEN => {V}
'HF_TOKEN' => '{V}'
"HF_TOKEN" : "{V}"
+ HF_TOKEN={V}
++ export HF_TOKEN={V}
HF_TOKEN:{V}
HF_TOKEN: {V}
HF_TOKEN = {V}
HF_TOKEN ={V}
HF_TOKEN= {V}
-e HF_TOKEN={V}
--env HF_TOKEN={V}
--env=HF_TOKEN={V}
-eHF_TOKEN={V}
-x HF_TOKEN={V}
-DHF_TOKEN={V}
-Dpassword={V}
-Ddb.password={V}
--set auth.password={V}
--set-string token={V}
--build-arg HF_TOKEN={V}
--from-literal=password={V}
--from-literal password={V}
ARG HF_TOKEN={V}
ENV HF_TOKEN {V}
--password {V}
--password={V}
--password '{V}'
--password="{V}"
--password "{V}"
--Password {V}
--db-password={V}
--db_password={V}
--passwd {V}
--pass {V}
--pass={V}
--pw {V}
--api-key {L}
--api-key={L}
--api_key {L}
--api_key={L}
--apikey {L}
--apiKey={L}
--hf-token {V}
--hf_token={V}
--hf-token '{V}'
--auth-token={V}
--access-token {V}
--secret {V}
--secret={V}
--client-secret={V}
--secret-key {V}
--secret_key={V}
--private-key {V}
--credential={V}
--credentials {V}
--auth user:{V}
--auth={L}
--bearer {L}
--bearer-token {L}
--jwt {L}
--user me:{V}
-u me:{V}
-ume:{V}
-u "me:{V}"
-u 'me:{V}'
--user=me:{V}
--proxy-user me:{V}
wget --http-password={V} x
wget --http-password {V} x
curl -H "Authorization: Bearer {L}" x
curl -H 'Authorization: token {L}' x
curl -H "X-Auth-Token: {L}" x
curl -H "X-Api-Key: {L}" x
curl -H 'PRIVATE-TOKEN: {L}' x
curl -H "X-Vault-Token: {L}" x
curl -H "apikey: {L}" x
curl -H "api-key: {L}" x
curl --cookie "sid={L}" x
curl -b "sid={L}" x
curl -d "password={V}" x
curl -d '{{"password":"{V}"}}' x
Authorization: Basic {B}
Authorization: Basic {B}==
authorization: basic {B}
Authorization:Basic {B}
"Authorization": "Basic {B}"
'Authorization': 'Bearer {L}'
{{'Authorization': 'Bearer {L}'}}
('Authorization', 'Bearer {L}')
Authorization=Bearer {L}
"authorization":["Bearer {L}"]
b'Authorization: Bearer {L}'
Proxy-Authorization: Basic {B}
Authorization: Digest username="x", response="{L}"
Authorization: ApiKey {L}
Authorization: Token {L}
Authorization: Token token={L}
Authorization: {L}
WWW-Authenticate: Bearer {L}
X-Auth-Token: {L}
X-Amz-Security-Token: {L}
X-Goog-Api-Key: {L}
X-CSRF-Token: {L}
Cookie: sid={L}
Cookie: a=b; sid={L}
"Cookie": "sid={L}"
'Cookie': 'sid={L}'
{{"cookie": "sid={L}"}}
Set-Cookie: sid={L}; HttpOnly
"set-cookie": ["sid={L}"]
cookies={{'sid': '{L}'}}
cookie=sid={L}
document.cookie="sid={L}"
sessionid={L}
session_id={L}
JSESSIONID={L}
PHPSESSID={L}
csrftoken={L}
https://x/a?token={V}
https://x/a?api_key={V}&b=1
https://x/a?apikey={V}
https://x/a?key={L}
https://x/a?auth={L}
https://x/a?password={V}
https://x/a?pwd={V}
https://x/a?pass={V}
https://x/a?access_token={V}
https://x/a?b=1&sig={L}
https://x/a?Signature={L}
https://x/a?code={L}
https://x/a?jwt={L}
https://x/a?secret={V}
https://x/a?private_token={V}
https://x/a?X-Amz-Credential={L}
https://x/a?X-Amz-Security-Token={L}
https://x/a#access_token={V}
https://x/?a=1&amp;token={V}
https%3A%2F%2Fx%2F%3Ftoken%3D{V}
https://me:{V}@x/
https://me:{V}%40q@x/
https://{L}@x/
https://:{V}@x/
https://oauth2:{V}@git/x
redis://:{V}@h:6379/0
mongodb+srv://me:{V}@h/x
amqp://me:{V}@h//
postgres://me:{V}@h/x?sslmode=off
jdbc:mysql://h/x?user=a&password={V}
jdbc:oracle:thin:me/{V}@h:1521
Server=h;Uid=a;Pwd={V};
Data Source=h;Password={V}
host=h user=a password={V} dbname=x
machine h login a password {V}
machine h password {V} login a
machine h login a password "{V}"
default login a password {V}
{{"auths": {{"r.io": {{"auth": "{B}"}}}}}}
{{"auths":{{"r.io":{{"auth":"{B}"}}}}}}
"auth": "{B}"
"auth" : "{B}=="
'auth': '{B}'
auth: {B}
"identitytoken": "{L}"
"registrytoken": "{L}"
_auth={B}
//r/:_authToken={V}
//r/:_password={V}
//r/:_auth={B}
password={V} [pypi]
aws_access_key_id = AKIAABCDEFGHIJKLMq7Z
aws_secret_access_key = {L}
aws_session_token = {L}
AWS_SESSION_TOKEN={L}
"SecretAccessKey": "{L}"
"SessionToken": "{L}"
"SecretString": "{L}"
"accountKey": "{L}"
"connectionString": "x;AccountKey={L}"
SharedAccessSignature=sr=x&sig={L}
SharedAccessKey={L}
"private_key": "{L}"
"private_key_id": "{L}"
"client_secret": "{L}"
"refresh_token": "{L}"
"id_token": "{L}"
refresh_token={L}
client_secret={L}
<password>{V}</password>
<Password>{V}</Password>
<apiKey>{V}</apiKey>
<api-key>{V}</api-key>
<property name="password" value="{V}"/>
<property name="db.password">{V}</property>
<user name="a" password="{V}"/>
<token type="x">{V}</token>
<password><![CDATA[{V}]]></password>
password: !vault {V}
password: &p {V}
vault_password={V}
ansible_password={V}
ansible_become_pass={V}
ansible_ssh_pass={V} ansible_user=a
become_password: {V}
sudo_pass: {V}
echo {V} | sudo -S id
echo "{V}" | docker login --password-stdin
sshpass -p{V} ssh x
sshpass -p '{V}' ssh x
SSHPASS={V} sshpass -e
mysql -p{V}
mysql --password={V}
mysqldump -u a -p'{V}' x
psql "postgresql://a:{V}@h/x"
redis-cli -a {V}
ipmitool -U a -P {V}
ipmitool -P{V} x
smbclient //h/x -U a%{V}
mount -o username=a,password={V}
mount -t cifs -o user=a,pass={V} //h
username=a,password={V},x
ldapsearch -w {V}
ldapsearch -D x -w '{V}'
openssl -passin pass:{V}
openssl -passout pass:{V}
openssl -k {V}
openssl enc -pass pass:{V}
gpg --passphrase {V}
gpg --passphrase={V}
zip -P {V} x
unzip -P {V} x
7z x -p{V} a
htpasswd -b f me {V}
chpasswd <<< "a:{V}"
useradd -p {V} a
snmpget -c {V} h
snmpget -A {V} h
snmpwalk -v3 -a SHA -A {V} -X {V} h
racadm -u root -p {V} x
vault login {V}
vault token={V}
export VAULT_TOKEN={V}
wandb login {L}
huggingface-cli login --token {V}
hf auth login --token {V}
ngc config set --apikey {V}
helm login -p {V}
az login --service-principal -p {V}
az login --password {V}
docker login -u a -p {V}
docker login --password={V}
kubectl config set-credentials a --token={V}
kubectl --token {V}
kubeadm join --token abcdef.q7Z3456789abcdef
token: {L}
"token":"{L}"
'token': u'{L}'
u'token': u'{L}'
token="{L}"
token='{L}'
Token={L}
TOKEN={L}
X_TOKEN="{L}"
mytoken={V}
my-token: {V}
my.token={V}
MYTOKEN={V}
GITLAB_TOKEN={V}
NPM_TOKEN={V}
MY_SECRET={V}
my_secret={V}
mySecret={V}
MY_KEY={V}
my_key={V}
API_KEY={V}
apiKey={V}
apiKey: {V}
"apiKey":"{V}"
'apiKey':'{V}'
"api-key":"{V}"
APIKEY={V}
apikey={V}
apikey: {V}
api key: {V}
API key: {V}
API Key = {V}
secret key: {V}
access key: {V}
secret: {V}
secret='{V}'
encryption_key={V}
signing-key={V}
webhook_secret={V}
https://hooks.slack.com/services/T00/B00/q7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Z
JENKINS_API_TOKEN={V}
SENTRY_DSN=https://{L}@sentry.io/1
TELEGRAM_BOT_TOKEN=123456:{L}
psk={V}
wpa_passphrase={V}
pre-shared-key: {V}
PRIVATE_KEY={L}
SSH_KEY={L}
DEPLOY_KEY={L}
PASSPHRASE={V}
passphrase: {V}
otp={V}
credentials: {V}
credential={V}
\"password\": \"{V}\"
{{\"password\": \"{V}\"}}
{{\\"password\\": \\"{V}\\"}}
\"api_key\": [\"{L}\"]
'{{"password": "{V}"}}'
password=\"{V}\"
password=\'{V}\'
&quot;password&quot;: &quot;{V}&quot;
password&quot;:&quot;{V}
%22password%22%3A%22{V}%22
password%3D{V}
password\u003d{V}
--password\x1f{V}
password=<{V}>
password=({V})
password=[{V}]
password={{{V}}}
password=`{V}`
password=$({V})
password=SecretStr('{V}')
api_key=SecretStr("{L}")
password=b'{V}'
password=r"{V}"
password: str = '{V}'
password := "{V}"
password ??= "{V}"
const password = "{V}"
var password string = "{V}"
val password: String = "{V}"
"""

# Neither a telling name beside the value nor a known form: docs/secrets.md lists them.
STAYS = r"""
password -> {V}
password is {V}
password is: {V}
Password for root: {V}
passwd {V}
user password = abcd q7Z
rootpass={V}
userpass: {V}
HF_TOKEN {V}
Authorization: q7Z
Ocp-Apim-Subscription-Key: {L}
net user a {V}
kinit a <<< {V}
client-certificate-data: {L}
secret {V}
Secret('{V}')
#define PASSWORD "{V}"
password|{V}
| password | {V} |
password,{V}
"""
