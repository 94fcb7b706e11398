// Media types: what runs nothing wherever it is shown, and what runs what its markup says.
import { match } from './captured.js';

const INERT = /^(?:image\/(?:png|apng|jpe?g|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)|text\/(?:plain|css|csv|event-stream)|application\/(?:[a-z0-9.-]+\+json|json|octet-stream|zip)|(?:audio|video|font)\/[a-z0-9.+-]+)$/;
const MARKUP = /^(?:text\/html|text\/xml|application\/(?:xhtml\+)?xml|image\/svg\+xml)$/;

/** Whether content of this type, without parameters and in lower case, runs nothing wherever it is shown. */
export const isInertType = (type) => match(INERT, type) !== null;

/** Whether a document of this type runs what its markup says. */
export const isMarkupType = (type) => match(MARKUP, type) !== null;
