#!/bin/sh
# Runs versitygw, the S3 store of compose.yaml, on a folder. At the first start it makes the bucket, and credentials that the
# server's user may read.
set -eu
data=/var/lib/happe-store
credentials=/run/happe-store/credentials
mkdir -p $data/bucket/happe-study
if [ ! -s $credentials ]; then
    key=$(od -An -N10 -tx1 /dev/urandom | tr -d ' \n')
    secret=$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n')
    (umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$key" "$secret" >$credentials.new)
    mv $credentials.new $credentials
fi
ROOT_ACCESS_KEY=$(sed -n 's/^aws_access_key_id = //p' $credentials)
ROOT_SECRET_KEY=$(sed -n 's/^aws_secret_access_key = //p' $credentials)
export ROOT_ACCESS_KEY ROOT_SECRET_KEY
exec versitygw --port :7070 --health /healthz --quiet posix $data/bucket
